/* weft: everything at once. Each subject also has a header of its own beside this one. */
#ifndef WEFT_WEFT_H
#define WEFT_WEFT_H

#include <weft/blocking.h>
#include <weft/channel.h>
#include <weft/child.h>
#include <weft/command.h>
#include <weft/context.h>
#include <weft/cxx.h>
#include <weft/errno.h>
#include <weft/errors.h>
#include <weft/file.h>
#include <weft/fork.h>
#include <weft/group.h>
#include <weft/info.h>
#include <weft/life.h>
#include <weft/local.h>
#include <weft/message.h>
#include <weft/name.h>
#include <weft/net.h>
#include <weft/preempt.h>
#include <weft/process.h>
#include <weft/registry.h>
#include <weft/router.h>
#include <weft/runtime.h>
#include <weft/scope.h>
#include <weft/select.h>
#include <weft/server.h>
#include <weft/signal.h>
#include <weft/sim.h>
#include <weft/stack.h>
#include <weft/stackful.h>
#include <weft/super.h>
#include <weft/sync.h>
#include <weft/synch2.h>
#include <weft/ticker.h>
#include <weft/time.h>
#include <weft/version.h>

#endif
