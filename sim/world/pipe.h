/* Pipes of the simulated world. */
#ifndef WEFT_SIM_WORLD_PIPE_H
#define WEFT_SIM_WORLD_PIPE_H

/* As pipe2, non-blocking: pair[0] reads. 0, or -EMFILE, -ENFILE. */
int sim_pipe(int pair[2]);

#endif
