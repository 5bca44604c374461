/* A display for XSkat that nobody looks at: preloaded before libX11, it answers XSkat's calls and tells what is shown.
 *
 * Every line on stdout is one thing shown on one of the displays (numbered from 0 as they are opened):
 *   text DISPLAY WINDOW X Y TEXT      words on a window
 *   card DISPLAY CARD X Y             a card, numbered as XSkat makes their pictures, 0 for a back, on the main window
 *   idle                              XSkat waits for its players; a line on stdin is awaited
 * and every line on stdin is a click: DISPLAY WINDOW X Y, WINDOW 0 for the main window. The end of stdin ends XSkat.
 * Waiting takes no time, and the time is always the same. Only what XSkat calls is here, and nothing of it is taken from XSkat or from libX11.
 */
#include <X11/Xlib.h>
#include <X11/Xutil.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <time.h>

#define DISPLAYS 2
#define QUEUE 4096
#define QUIET 8 /* polls in a row that nothing was shown between */
#define FIRST_PIXMAP 1000000

static struct {
  _XPrivDisplay display;
  Window main;
  int pixmaps, first, last;
  XEvent queue[QUEUE];
} seats[DISPLAYS];
static Screen screens[DISPLAYS];
static Visual visual;
static XFontStruct font;
static unsigned long next_id = 100;
static int opened, quiet;

static int at(Display *display) { return (_XPrivDisplay)display == seats[0].display ? 0 : 1; }

static void put(int seat, XEvent event) {
  seats[seat].queue[seats[seat].last] = event;
  seats[seat].last = (seats[seat].last + 1) % QUEUE;
}

static void words(Display *d, Drawable w, int x, int y, const char *text, int length) {
  if (w >= FIRST_PIXMAP) return;
  quiet = 0;
  printf("text %d %lu %d %d %.*s\n", at(d), w == seats[at(d)].main ? 0 : w, x, y, length, text);
}

static void ask(void) {
  int seat, x, y;
  unsigned long window;
  XEvent event;
  printf("idle\n");
  fflush(stdout);
  char line[100];
  if (!fgets(line, sizeof line, stdin) || sscanf(line, "%d %lu %d %d", &seat, &window, &x, &y) != 4) exit(0);
  memset(&event, 0, sizeof event);
  event.type = ButtonPress;
  event.xbutton.button = 1;
  event.xbutton.window = window ? window : seats[seat].main;
  event.xbutton.x = x;
  event.xbutton.y = y;
  put(seat, event);
}

Display *XOpenDisplay(_Xconst char *name) {
  if (opened == DISPLAYS) return 0;
  _XPrivDisplay d = calloc(1, sizeof *d);
  Screen *s = &screens[opened];
  visual.class = StaticGray;
  s->display = (Display *)d;
  s->root = 1;
  s->width = 800;
  s->height = 600;
  s->root_visual = &visual;
  s->root_depth = 1;
  s->white_pixel = 1;
  s->cmap = 1;
  d->screens = s;
  d->nscreens = 1;
  seats[opened++].display = d;
  return (Display *)d;
}

Window XCreateSimpleWindow(Display *d, Window parent, int x, int y, unsigned w, unsigned h, unsigned b,
                           unsigned long border, unsigned long back) {
  if (parent == 1) seats[at(d)].main = next_id;
  return next_id++;
}

int XMapWindow(Display *d, Window w) {
  XEvent event;
  memset(&event, 0, sizeof event);
  event.type = Expose;
  event.xexpose.window = w;
  if (w != seats[at(d)].main) put(at(d), event);
  return 1;
}

Pixmap XCreatePixmap(Display *d, Drawable w, unsigned width, unsigned height, unsigned planes) {
  return FIRST_PIXMAP + seats[at(d)].pixmaps++;
}

int XCopyArea(Display *d, Drawable from, Drawable to, GC gc, int sx, int sy, unsigned w, unsigned h, int x, int y) {
  if (from <= FIRST_PIXMAP || to != seats[at(d)].main) return 1;
  quiet = 0;
  printf("card %d %lu %d %d\n", at(d), from - FIRST_PIXMAP - 1, x, y); /* the first pixmap is the table */
  return 1;
}

Bool XCheckMaskEvent(Display *d, long mask, XEvent *event) {
  int seat = at(d);
  if (seats[seat].first == seats[seat].last && ++quiet >= QUIET) {
    quiet = 0;
    ask();
  }
  if (seats[seat].first == seats[seat].last) return False;
  *event = seats[seat].queue[seats[seat].first];
  seats[seat].first = (seats[seat].first + 1) % QUEUE;
  return True;
}

int XDrawString(Display *d, Drawable w, GC gc, int x, int y, _Xconst char *text, int length) {
  words(d, w, x, y, text, length);
  return 1;
}

int XDrawImageString(Display *d, Drawable w, GC gc, int x, int y, _Xconst char *text, int length) {
  words(d, w, x, y, text, length);
  return 1;
}

XFontStruct *XLoadQueryFont(Display *d, _Xconst char *name) {
  font.ascent = font.max_bounds.ascent = 12;
  font.descent = font.max_bounds.descent = 3;
  font.max_bounds.width = 9;
  return &font;
}

int XTextWidth(XFontStruct *f, _Xconst char *text, int length) { return 9 * length; }

char *XGetDefault(Display *d, _Xconst char *program, _Xconst char *option) {
  static const char *settings[][2] = {
      {"shortcut", "0"}, {"tdelay", "0"},     {"trickl2r", "True"}, {"keyboard", "0"}, {"large", "False"},
      {"down", "True"},  {"language", "english"}, {"alt", "False"},     {"hint", "False"}, {"3d", "False"},
      {"color", "False"}, {"briefmsg", "False"}, {"cards", "0"}, {"alias", "Player"}};
  for (unsigned i = 0; i < sizeof settings / sizeof *settings; i++)
    if (!strcmp(option, settings[i][0])) return (char *)settings[i][1];
  return 0;
}

/* ---- what needs an answer, and none that matters ---- */

GC XCreateGC(Display *d, Drawable w, unsigned long mask, XGCValues *values) { return (GC)calloc(1, 64); }
Pixmap XCreateBitmapFromData(Display *d, Drawable w, _Xconst char *data, unsigned x, unsigned y) { return 2 * FIRST_PIXMAP; }
Cursor XCreateFontCursor(Display *d, unsigned shape) { return 1; }
Bool XCheckTypedWindowEvent(Display *d, Window w, int type, XEvent *event) { return False; }
char *XDisplayName(_Xconst char *name) { return (char *)name; }
int XDisplayHeight(Display *d, int screen) { return 600; }
int XDisplayWidth(Display *d, int screen) { return 800; }
int XParseGeometry(_Xconst char *text, int *x, int *y, unsigned *w, unsigned *h) { return 0; }
Status XAllocColor(Display *d, Colormap map, XColor *color) { return 1; }
Status XParseColor(Display *d, Colormap map, _Xconst char *name, XColor *color) { return 1; }
XErrorHandler XSetErrorHandler(XErrorHandler handler) { return 0; }
XIOErrorHandler XSetIOErrorHandler(XIOErrorHandler handler) { return 0; }
int select(int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *t) { return 0; }
unsigned sleep(unsigned seconds) { return 0; }
time_t time(time_t *now) { return 1; } /* the seed of what XSkat leaves to chance */

#define NOTHING(name) \
  int nothing_##name(void) __asm__(#name); \
  int nothing_##name(void) { return 1; }
NOTHING(XBell) NOTHING(XChangeGC) NOTHING(XChangeProperty) NOTHING(XClearWindow) NOTHING(XCloseDisplay)
NOTHING(XCopyPlane) NOTHING(XDefineCursor) NOTHING(XDestroyWindow) NOTHING(XDrawLine) NOTHING(XDrawLines)
NOTHING(XDrawPoint) NOTHING(XDrawPoints) NOTHING(XDrawRectangle) NOTHING(XFillRectangle) NOTHING(XFlush)
NOTHING(XFreeColors) NOTHING(XFreeGC) NOTHING(XFreePixmap) NOTHING(XLookupKeysym) NOTHING(XLookupString)
NOTHING(XMoveWindow) NOTHING(XQueryColor) NOTHING(XQueryColors) NOTHING(XSelectInput) NOTHING(XSetClassHint)
NOTHING(XSetStandardProperties) NOTHING(XSetWMHints) NOTHING(XSetWMNormalHints) NOTHING(XSync) NOTHING(XUnmapWindow)
