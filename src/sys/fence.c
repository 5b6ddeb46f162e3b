#include "sys/sys.h"

/* True until the kernel has agreed: two full fences are always right, only slower. */
bool atom_fence_light_is_full = true;

void sys_fence_setup(void) { atom_fence_light_is_full = sys->fence_register() != 0; }

__attribute__((constructor)) static void sys_fence_setup_at_load(void) { sys_fence_setup(); }
