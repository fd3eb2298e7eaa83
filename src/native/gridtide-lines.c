/*
 * Holds lines of the header's GPIO chip for gridtide through the character device, and sets their safe levels when gridtide is gone.
 *
 *   gridtide-lines SOCKET          listens on SOCKET in the background; ends at once when another one listens there, and with its last
 *                                  client when it keeps no line
 *   gridtide-lines                 takes the listening socket of systemd (LISTEN_FDS)
 *   gridtide-lines probe LINE...   prints for each line who uses it; drives nothing
 *
 * It greets a client with `gridtide-lines 1 PROCESS`, where 1 is the version of these requests. A client sends one request a line and
 * gets one answer, `ok …` or `no ERROR DETAIL`, in order:
 *
 *   output LINE high|low           drives the line, at this level unless it is driven already; answers the level it has
 *   input LINE up|down MICROS      reads the line with this pull, debounced; each change is sent as `edge LINE high|low`
 *   write LINE high|low            answers the level read back
 *   read LINE
 *   free LINE                      an output keeps its level and waits for its next client; an input is given back
 *   safe LINE high|low             the level to set when this client is gone; set in the order of these requests
 *   keep                           forgets the safe levels of this client: it stops in order
 *
 * The kernel may let a line fall once no process has it, so a driven line is kept here until this program ends.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/gpio.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { MAX_LINES = 64, MAX_CLIENTS = 8, MAX_REQUEST = 64, NOBODY = -1, SYSTEMD_FIRST_FD = 3 };

#ifndef DEVICES
#define DEVICES "/dev"
#endif

/* The header's chip on Raspberry Pi 0 to 3, 4, 5. */
static const char *const HEADER_CHIPS[] = {"pinctrl-bcm2835", "pinctrl-bcm2711", "pinctrl-rp1"};

static struct {
  int fd;
  int owner;
  bool is_input;
} lines[MAX_LINES];

static struct {
  int fd;
  size_t length;
  char text[MAX_REQUEST];
} clients[MAX_CLIENTS];

static struct {
  int client;
  int line;
  bool high;
} safe_levels[MAX_LINES];
static int safe_count;

/* What an error is about, for the answer. */
static char detail[256];

static int fail(int error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(detail, sizeof detail, format, arguments);
  va_end(arguments);
  return -error;
}

static const char *level_word(bool high) { return high ? "high" : "low"; }

static bool is_header(const char *label) {
  for (size_t i = 0; i < sizeof HEADER_CHIPS / sizeof *HEADER_CHIPS; i++)
    if (strcmp(label, HEADER_CHIPS[i]) == 0) return true;
  return false;
}

/* Opens the one chip with the label of a header; 0 when `name` is none. */
static int open_if_header(const char *name, struct gpiochip_info *info, char *others, size_t room) {
  char path[512];
  struct stat status;
  snprintf(path, sizeof path, "%s/%s", DEVICES, name);
  /* The header's chip of a Pi 5 has a second name, a link. */
  if (lstat(path, &status) < 0 || S_ISLNK(status.st_mode)) return 0;
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return fail(errno, "%s", path);
  if (ioctl(fd, GPIO_GET_CHIPINFO_IOCTL, info) == 0) {
    if (is_header(info->label)) return fd;
    size_t used = strlen(others);
    snprintf(others + used, room - used, "%s%s", used ? ", " : "", info->label);
  }
  close(fd);
  return 0;
}

/* The header's chip, opened; its lines in `info`. */
static int open_chip(struct gpiochip_info *info) {
  DIR *devices = opendir(DEVICES);
  if (!devices) return fail(errno, "%s", DEVICES);
  char others[128] = "";
  int found = -1, refused = 0;
  for (struct dirent *entry; (entry = readdir(devices));) {
    if (strncmp(entry->d_name, "gpiochip", 8) != 0) continue;
    struct gpiochip_info one = {0};
    int fd = open_if_header(entry->d_name, &one, others, sizeof others);
    if (fd < 0) refused = fd;
    if (fd <= 0) continue;
    if (found >= 0) {
      close(fd);
      close(found);
      closedir(devices);
      return fail(ENODEV, "%s, %s", info->label, one.label);
    }
    found = fd;
    *info = one;
  }
  closedir(devices);
  if (found >= 0) return found;
  if (refused) return refused; /* with its detail */
  return fail(ENODEV, "%s", *others ? others : "none");
}

/* Opens the chip for a line that it has and that no other program uses; `is_output`: it is driven already. */
static int open_chip_for(int line, bool *is_output) {
  struct gpiochip_info info;
  int chip = open_chip(&info);
  if (chip < 0) return chip;
  struct gpio_v2_line_info about = {.offset = line};
  int error = 0;
  if (line >= (int)info.lines) error = fail(EINVAL, "%s %u", info.label, info.lines);
  else if (ioctl(chip, GPIO_V2_GET_LINEINFO_IOCTL, &about) < 0) error = fail(errno, "line %d", line);
  else if (about.flags & GPIO_V2_LINE_FLAG_USED) error = fail(EBUSY, "%s", about.consumer);
  if (is_output) *is_output = about.flags & GPIO_V2_LINE_FLAG_OUTPUT;
  if (error == 0) return chip;
  close(chip);
  return error;
}

static void add_level(struct gpio_v2_line_config *config, bool high) {
  struct gpio_v2_line_config_attribute *attribute = &config->attrs[config->num_attrs++];
  attribute->attr.id = GPIO_V2_LINE_ATTR_ID_OUTPUT_VALUES;
  attribute->attr.values = high;
  attribute->mask = 1;
}

/* The file of the line, or the error. */
static int request_line(int chip, int line, const struct gpio_v2_line_config *config) {
  struct gpio_v2_line_request request = {.num_lines = 1, .consumer = "gridtide", .config = *config};
  request.offsets[0] = line;
  return ioctl(chip, GPIO_V2_GET_LINE_IOCTL, &request) < 0 ? fail(errno, "line %d", line) : request.fd;
}

/* 0 or 1, or the error. */
static int read_level(int fd) {
  struct gpio_v2_line_values values = {.mask = 1};
  return ioctl(fd, GPIO_V2_LINE_GET_VALUES_IOCTL, &values) < 0 ? fail(errno, "read") : (int)(values.bits & 1);
}

static int write_level(int fd, bool high) {
  struct gpio_v2_line_values values = {.mask = 1, .bits = high};
  return ioctl(fd, GPIO_V2_LINE_SET_VALUES_IOCTL, &values) < 0 ? fail(errno, "write") : 0;
}

/* Level and direction in one step, and a line that is driven already keeps its level. */
static int open_output(int line, bool high) {
  bool is_output;
  int chip = open_chip_for(line, &is_output);
  if (chip < 0) return chip;
  struct gpio_v2_line_config config = {0};
  if (!is_output) {
    config.flags = GPIO_V2_LINE_FLAG_OUTPUT;
    add_level(&config, high);
  }
  int fd = request_line(chip, line, &config);
  close(chip);
  if (fd < 0 || !is_output) return fd;
  int level = read_level(fd);
  config.flags = GPIO_V2_LINE_FLAG_OUTPUT;
  add_level(&config, level > 0);
  if (level >= 0 && ioctl(fd, GPIO_V2_LINE_SET_CONFIG_IOCTL, &config) == 0) return fd;
  int error = level < 0 ? level : fail(errno, "line %d", line);
  close(fd);
  return error;
}

static int open_input(int line, bool pulls_up, unsigned debounce) {
  int chip = open_chip_for(line, NULL);
  if (chip < 0) return chip;
  struct gpio_v2_line_config config = {
      .flags = GPIO_V2_LINE_FLAG_INPUT | GPIO_V2_LINE_FLAG_EDGE_RISING | GPIO_V2_LINE_FLAG_EDGE_FALLING |
               (pulls_up ? GPIO_V2_LINE_FLAG_BIAS_PULL_UP : GPIO_V2_LINE_FLAG_BIAS_PULL_DOWN),
      .num_attrs = 1,
  };
  config.attrs[0].attr.id = GPIO_V2_LINE_ATTR_ID_DEBOUNCE;
  config.attrs[0].attr.debounce_period_us = debounce;
  config.attrs[0].mask = 1;
  int fd = request_line(chip, line, &config);
  close(chip);
  return fd;
}

static void close_line(int line) {
  if (lines[line].fd >= 0) close(lines[line].fd);
  lines[line].fd = -1;
  lines[line].owner = NOBODY;
}

static void release_line(int line) {
  lines[line].owner = NOBODY;
  if (lines[line].is_input) close_line(line);
}

/* Gives the line to the client; one that a client left is taken as it is. */
static int take_line(int client, int line, bool is_input, bool high, unsigned debounce) {
  if (lines[line].owner != NOBODY) return fail(EBUSY, "gridtide");
  if (lines[line].fd >= 0 && is_input) close_line(line);
  if (lines[line].fd < 0) {
    int fd = is_input ? open_input(line, high, debounce) : open_output(line, high);
    if (fd < 0) return fd;
    lines[line].fd = fd;
    lines[line].is_input = is_input;
  }
  lines[line].owner = client;
  return read_level(lines[line].fd);
}

static void set_safe(int line, bool high) {
  int error = 0;
  if (lines[line].fd < 0) {
    error = take_line(NOBODY, line, false, high, 0);
    if (error > 0) error = 0;
  }
  if (error == 0) error = write_level(lines[line].fd, high);
  if (error == 0) fprintf(stderr, "gridtide fail-safe: line %d set %s\n", line, level_word(high));
  else fprintf(stderr, "gridtide fail-safe: line %d could not be set %s: %s, %s\n", line, level_word(high), strerror(-error), detail);
}

static void forget_safe(int client) {
  int kept = 0;
  for (int i = 0; i < safe_count; i++)
    if (safe_levels[i].client != client) safe_levels[kept++] = safe_levels[i];
  safe_count = kept;
}

static void end_client(int client) {
  for (int i = 0; i < safe_count; i++)
    if (safe_levels[i].client == client) set_safe(safe_levels[i].line, safe_levels[i].high);
  forget_safe(client);
  for (int line = 0; line < MAX_LINES; line++)
    if (lines[line].owner == client) release_line(line);
  close(clients[client].fd);
  clients[client].fd = -1;
}

static int add_safe(int client, int line, bool high) {
  if (safe_count == MAX_LINES) return fail(ENOSPC, "safe levels");
  safe_levels[safe_count].client = client;
  safe_levels[safe_count].line = line;
  safe_levels[safe_count++].high = high;
  return 0;
}

/* A level to answer, or -errno; `has_level` is false where there is none to answer. */
static int obey(int client, char *text, bool *has_level) {
  char verb[8], word[8] = "";
  int line = 0, debounce = 0;
  int words = sscanf(text, "%7s %d %7s %d", verb, &line, word, &debounce);
  bool high = strcmp(word, "high") == 0 || strcmp(word, "up") == 0;
  bool is_level = high || strcmp(word, "low") == 0 || strcmp(word, "down") == 0;
  *has_level = false;
  if (words == 1 && strcmp(verb, "keep") == 0) {
    forget_safe(client);
    return 0;
  }
  if (words < 2 || line < 0) return fail(EBADMSG, "%s", text);
  if (line >= MAX_LINES) return fail(EINVAL, "the header %d", MAX_LINES);
  if (words == 3 && is_level && strcmp(verb, "safe") == 0) return add_safe(client, line, high);
  *has_level = true;
  if (words == 3 && is_level && strcmp(verb, "output") == 0) return take_line(client, line, false, high, 0);
  if (words == 4 && is_level && debounce >= 0 && strcmp(verb, "input") == 0)
    return take_line(client, line, true, high, debounce);
  bool is_read = words == 2 && strcmp(verb, "read") == 0;
  bool is_free = words == 2 && strcmp(verb, "free") == 0;
  bool is_write = words == 3 && is_level && strcmp(verb, "write") == 0;
  if (!is_read && !is_free && !is_write) return fail(EBADMSG, "%s", text);
  if (lines[line].owner != client || (is_write && lines[line].is_input)) return fail(EBADF, "line %d is not open", line);
  if (is_read) return read_level(lines[line].fd);
  if (is_free) {
    release_line(line);
    *has_level = false;
    return 0;
  }
  int error = write_level(lines[line].fd, high);
  return error < 0 ? error : read_level(lines[line].fd);
}

/* False when the client does not read, or is gone. */
static bool tell(int client, const char *format, ...) {
  char text[sizeof detail + 64];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return send(clients[client].fd, text, length, MSG_NOSIGNAL | MSG_DONTWAIT) == length;
}

static bool answer(int client, char *text) {
  bool has_level;
  int result = obey(client, text, &has_level);
  if (result < 0) return tell(client, "no %s %s\n", strerrorname_np(-result), detail);
  return has_level ? tell(client, "ok %s\n", level_word(result)) : tell(client, "ok\n");
}

/* Answers each whole request that has come; false at the end of the client. */
static bool hear(int client) {
  char *text = clients[client].text;
  size_t *length = &clients[client].length;
  ssize_t more = read(clients[client].fd, text + *length, MAX_REQUEST - *length);
  if (more <= 0) return more < 0 && (errno == EAGAIN || errno == EINTR);
  *length += more;
  for (char *end; (end = memchr(text, '\n', *length));) {
    *end = 0;
    if (!answer(client, text)) return false;
    *length -= end + 1 - text;
    memmove(text, end + 1, *length);
  }
  return *length < MAX_REQUEST;
}

static void report_edge(int line) {
  struct gpio_v2_line_event event;
  if (read(lines[line].fd, &event, sizeof event) != sizeof event) {
    /* Its chip is gone: the next request of its owner fails. */
    close(lines[line].fd);
    lines[line].fd = -1;
    return;
  }
  int owner = lines[line].owner;
  if (!tell(owner, "edge %d %s\n", line, level_word(event.id == GPIO_V2_LINE_EVENT_RISING_EDGE))) end_client(owner);
}

static void admit(int listener) {
  int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  for (int client = 0; client < MAX_CLIENTS && fd >= 0; client++)
    if (clients[client].fd < 0) {
      clients[client].fd = fd;
      clients[client].length = 0;
      if (!tell(client, "gridtide-lines 1 %d\n", getpid())) end_client(client);
      return;
    }
  if (fd >= 0) close(fd);
}

static void stop(int signal) {
  (void)signal;
  for (int i = 0; i < safe_count; i++) set_safe(safe_levels[i].line, safe_levels[i].high);
  _exit(0);
}

/* Whether nobody is served and no line is kept. */
static bool is_idle(void) {
  for (int i = 0; i < MAX_CLIENTS; i++)
    if (clients[i].fd >= 0) return false;
  for (int i = 0; i < MAX_LINES; i++)
    if (lines[i].fd >= 0) return false;
  return true;
}

/* `path`: of a socket that is its own, whose program ends with its last client when it keeps no line; NULL: never. */
static void serve(int listener, const char *path) {
  struct pollfd waits[1 + MAX_CLIENTS + MAX_LINES];
  waits[0] = (struct pollfd){.fd = listener, .events = POLLIN};
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  sigprocmask(SIG_BLOCK, &ending, NULL);
  signal(SIGTERM, stop);
  signal(SIGINT, stop);
  sigset_t none;
  sigemptyset(&none);
  for (;;) {
    for (int i = 0; i < MAX_CLIENTS; i++) waits[1 + i] = (struct pollfd){.fd = clients[i].fd, .events = POLLIN};
    for (int i = 0; i < MAX_LINES; i++)
      waits[1 + MAX_CLIENTS + i] = (struct pollfd){.fd = lines[i].is_input ? lines[i].fd : -1, .events = POLLIN};
    /* A signal comes only here, never in the middle of a change. */
    if (ppoll(waits, sizeof waits / sizeof *waits, NULL, &none) < 0) continue;
    for (int i = 0; i < MAX_LINES; i++)
      if (waits[1 + MAX_CLIENTS + i].revents && lines[i].fd >= 0) report_edge(i);
    for (int i = 0; i < MAX_CLIENTS; i++)
      if (waits[1 + i].revents && clients[i].fd == waits[1 + i].fd && !hear(i)) {
        end_client(i);
        if (path && is_idle()) {
          unlink(path);
          exit(0);
        }
      }
    if (waits[0].revents) admit(listener);
  }
}

static int probe(int count, char **words) {
  for (int i = 0; i < count; i++) {
    int line = atoi(words[i]);
    int chip = open_chip_for(line, NULL);
    if (chip < 0) printf("no %s %s\n", strerrorname_np(-chip), detail);
    else printf("ok\n");
    if (chip >= 0) close(chip);
  }
  return 0;
}

/* A listening socket under this name; -1 with errno, EADDRINUSE when somebody listens already. */
static int listen_at(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  strcpy(address.sun_path, path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) {
    close(fd);
    errno = EADDRINUSE;
    return -1;
  }
  if (errno == ECONNREFUSED) unlink(path);
  umask(0077);
  if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, MAX_CLIENTS) == 0) return fd;
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

/* The parent ends once the socket listens. */
static void go_to_background(void) {
  pid_t child = fork();
  if (child != 0) exit(child < 0);
  setsid();
  if (chdir("/") < 0) exit(1);
  int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd <= 2; fd++) dup2(null, fd);
  close(null);
}

int main(int count, char **words) {
  for (int i = 0; i < MAX_LINES; i++) lines[i].fd = lines[i].owner = NOBODY;
  for (int i = 0; i < MAX_CLIENTS; i++) clients[i].fd = -1;
  if (count >= 2 && strcmp(words[1], "probe") == 0) return probe(count - 2, words + 2);
  if (count == 1 && getenv("LISTEN_FDS")) serve(SYSTEMD_FIRST_FD, NULL);
  if (count != 2) {
    fprintf(stderr, "gridtide-lines: wrong use; expected SOCKET, or probe LINE...\n");
    return 2;
  }
  int listener = listen_at(words[1]);
  if (listener < 0 && errno == EADDRINUSE) return 0;
  if (listener < 0) {
    fprintf(stderr, "gridtide-lines: %s: %s\n", words[1], strerror(errno));
    return 1;
  }
  go_to_background();
  serve(listener, words[1]);
}
