/* A program in C that loads a plugin when its runtime runs, for itself alone. */
#include <weft/weft.h>

#include <dlfcn.h>
#include <stdio.h>

static int app(int argc, char **argv) {
    void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    int (*plugin_main)(int, char **) = plugin ? (int (*)(int, char **))dlsym(plugin, "exceptions_main") : NULL;
    if (!plugin_main) {
        puts(dlerror());
        return 1;
    }
    return plugin_main(argc, argv);
}

int main(int argc, char **argv) { return weft_main(argc, argv, app); }
