/* The handlers of the commands that every runtime knows. What they mean is said in weft/command.h. */
#ifndef WEFT_COMMAND_BUILT_IN_H
#define WEFT_COMMAND_BUILT_IN_H

#include <weft/command.h>

int command_sleep(void *user, weft_completion completion, const void *data, size_t size);
int command_read(void *user, weft_completion completion, const void *data, size_t size);
int command_write(void *user, weft_completion completion, const void *data, size_t size);
int command_open(void *user, weft_completion completion, const void *data, size_t size);
int command_close(void *user, weft_completion completion, const void *data, size_t size);
int command_sync(void *user, weft_completion completion, const void *data, size_t size);
int command_call(void *user, weft_completion completion, const void *data, size_t size);
int command_net(void *user, weft_completion completion, const void *data, size_t size);     /* command/net_commands.c */
int command_resolve(void *user, weft_completion completion, const void *data, size_t size); /* command/name_command.c */
int command_child(void *user, weft_completion completion, const void *data, size_t size);   /* command/child_commands.c */

#endif
