/* A fake of NVIDIA's management library, for tests on machines without a GPU: two devices whose errors are the lines
 * "GPU XID" of the file that FAKE_NVML_EVENTS names; of a line "GPU lost" the device does not answer any more. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, NOT_SUPPORTED = 3, TIMEOUT = 10, GPU_IS_LOST = 15, DEVICES = 2, XID_EVENT = 8, DOUBLE_BIT_EVENT = 2 };
struct device { unsigned index; int is_lost; };
struct event { struct device *device; unsigned long long type, data; unsigned instances[2]; };
struct memory { unsigned version; unsigned long long total, reserved, unused, used; };

static struct device devices[DEVICES] = {{0, 0}, {1, 0}};
static int taken, set;

int nvmlInit_v2(void) { return SUCCESS; }
int nvmlShutdown(void) { return SUCCESS; }
const char *nvmlErrorString(int code) { (void)code; return "an error of the fake library"; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = DEVICES; return SUCCESS; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device **device) { *device = &devices[index]; return SUCCESS; }
int nvmlDeviceGetIndex(struct device *device, unsigned *index) { *index = device->index; return SUCCESS; }
int nvmlDeviceGetMemoryInfo_v2(struct device *device, struct memory *memory) {
    memset(memory, 0, sizeof *memory);
    return device->is_lost ? GPU_IS_LOST : SUCCESS;
}
int nvmlDeviceGetSupportedEventTypes(struct device *device, unsigned long long *types) {
    (void)device;
    *types = XID_EVENT | DOUBLE_BIT_EVENT;
    return SUCCESS;
}
int nvmlEventSetCreate(void **made) { *made = &set; return SUCCESS; }
int nvmlEventSetFree(void *made) { (void)made; return SUCCESS; }
int nvmlDeviceRegisterEvents(struct device *device, unsigned long long types, void *made) {
    (void)device, (void)types, (void)made;
    return SUCCESS;
}

/* The next line that was not told yet. */
static int next(unsigned *gpu, char *word) {
    const char *path = getenv("FAKE_NVML_EVENTS");
    FILE *file = path ? fopen(path, "r") : NULL;
    int found = 0;
    for (int line = 0; file && !found && fscanf(file, "%u %15s\n", gpu, word) == 2; line++) found = line == taken;
    if (file) fclose(file);
    taken += found;
    return found && *gpu < DEVICES;
}

int nvmlEventSetWait_v2(void *made, struct event *event, unsigned timeout_ms) {
    (void)made;
    for (unsigned waited = 0; waited <= timeout_ms; waited += 20) {
        unsigned gpu;
        char word[16];
        if (next(&gpu, word)) {
            if (strcmp(word, "lost") == 0) {
                devices[gpu].is_lost = 1;
                return GPU_IS_LOST;
            }
            memset(event, 0, sizeof *event);
            event->device = &devices[gpu];
            event->type = strcmp(word, "ecc") == 0 ? DOUBLE_BIT_EVENT : XID_EVENT;
            event->data = strtoull(word, NULL, 10);
            return SUCCESS;
        }
        usleep(20000);
    }
    return TIMEOUT;
}
