/* Static data of the scenarios and of the parts they check. */
#ifndef CHECK_STATICS_H
#define CHECK_STATICS_H

/* All of it back to its initial bytes: a new run. The initial bytes are those at the first call. */
void statics_restore(void);

#endif
