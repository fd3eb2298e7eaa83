/*
 * The part of the kernel's GPIO interface that src/native/gridtide-lines.c uses, over a directory, linked in place of ioctl.
 * A chip is a file `LABEL LINES`, a line a file `in|out 0|1 [HOLDER]`; `events` gets each change as the kernel traces it. An edge of
 * an input comes through the pipe `edgesN`.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/gpio.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct state {
  char direction[8];
  int level;
  char holder[32];
};

static const char *directory(void) { return getenv("FAKE_GPIO"); }

static void path_of(char *path, size_t room, const char *kind, int line) { snprintf(path, room, "%s/%s%d", directory(), kind, line); }

static struct state load(int line) {
  char path[256];
  struct state state = {.direction = "in"};
  path_of(path, sizeof path, "line", line);
  FILE *file = fopen(path, "r");
  if (!file) return state;
  if (fscanf(file, "%7s %d %31[^\n]", state.direction, &state.level, state.holder) < 2) state.level = 0;
  fclose(file);
  return state;
}

static void save(int line, struct state state) {
  char path[256];
  path_of(path, sizeof path, "line", line);
  FILE *file = fopen(path, "w");
  fprintf(file, "%s %d\n", state.direction, state.level);
  fclose(file);
}

static void trace(int line, const char *what) {
  char path[256];
  snprintf(path, sizeof path, "%s/events", directory());
  FILE *file = fopen(path, "a");
  fprintf(file, "%d %s\n", line, what);
  fclose(file);
}

static void set_level(int line, int level) {
  struct state state = load(line);
  state.level = level;
  save(line, state);
  trace(line, level ? "1" : "0");
}

static int refuse(int error) {
  errno = error;
  return -1;
}

/* The number at the end of the name of an open file. */
static int number_of(int fd) {
  char link[64], path[256] = "";
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  if (readlink(link, path, sizeof path - 1) < 0) return -1;
  const char *name = strrchr(path, '/');
  return name ? atoi(name + strcspn(name, "0123456789")) : -1;
}

static int describe_chip(int fd, struct gpiochip_info *info) {
  char text[64] = "";
  if (pread(fd, text, sizeof text - 1, 0) < 0) return -1;
  return sscanf(text, "%31s %u", info->label, &info->lines) == 2 ? 0 : refuse(ENOTTY);
}

static void configure(int line, const struct gpio_v2_line_config *config) {
  struct state state = load(line);
  if (config->flags & GPIO_V2_LINE_FLAG_OUTPUT) {
    int level = config->attrs[0].attr.values & 1;
    if (strcmp(state.direction, "out") != 0 || state.level != level) set_level(line, level);
    state = load(line);
    if (strcmp(state.direction, "out") != 0) trace(line, "out");
    strcpy(state.direction, "out");
    save(line, state);
  } else if (config->flags & GPIO_V2_LINE_FLAG_INPUT) {
    strcpy(state.direction, "in");
    save(line, state);
  }
}

static int request_line(struct gpio_v2_line_request *request) {
  int line = request->offsets[0];
  char path[256];
  int is_input = !!(request->config.flags & GPIO_V2_LINE_FLAG_INPUT);
  path_of(path, sizeof path, "edges", line);
  if (mkfifo(path, 0600) < 0 && errno != EEXIST) return -1;
  int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0) return refuse(EBUSY);
  if (is_input) {
    path_of(path, sizeof path, "line", line);
    if (access(path, F_OK) < 0) {
      struct state pulled = {.direction = "in", .level = !!(request->config.flags & GPIO_V2_LINE_FLAG_BIAS_PULL_UP)};
      save(line, pulled);
    }
  }
  configure(line, &request->config);
  request->fd = fd;
  return 0;
}

static int describe_line(struct gpio_v2_line_info *info) {
  struct state state = load(info->offset);
  char path[256];
  if (strcmp(state.direction, "out") == 0) info->flags |= GPIO_V2_LINE_FLAG_OUTPUT;
  snprintf(info->consumer, sizeof info->consumer, "%s", state.holder);
  path_of(path, sizeof path, "edges", info->offset);
  int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) strcpy(info->consumer, "gridtide");
  if (fd >= 0) close(fd);
  if (info->consumer[0]) info->flags |= GPIO_V2_LINE_FLAG_USED;
  return 0;
}

int fake_ioctl(int fd, unsigned long request, ...) {
  va_list arguments;
  va_start(arguments, request);
  void *argument = va_arg(arguments, void *);
  va_end(arguments);
  struct gpio_v2_line_values *values = argument;
  switch (request) {
    case GPIO_GET_CHIPINFO_IOCTL: return describe_chip(fd, argument);
    case GPIO_V2_GET_LINEINFO_IOCTL: return describe_line(argument);
    case GPIO_V2_GET_LINE_IOCTL: return request_line(argument);
    case GPIO_V2_LINE_GET_VALUES_IOCTL: values->bits = load(number_of(fd)).level; return 0;
    case GPIO_V2_LINE_SET_VALUES_IOCTL: set_level(number_of(fd), values->bits & 1); return 0;
    case GPIO_V2_LINE_SET_CONFIG_IOCTL: configure(number_of(fd), argument); return 0;
    default: return refuse(ENOTTY);
  }
}
