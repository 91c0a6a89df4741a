/* SPDX-License-Identifier: Apache-2.0
 * Between step_reader.c, which reads the commands of --step, step_show.c, which prints, and step_expr.c, which computes. */
#ifndef CWS_STEP_PRIVATE_H
#define CWS_STEP_PRIVATE_H

#include "replay/step.h"

#include <stdio.h>

__extension__ typedef __int128 wide;

/* What an expression gives. Of memory (a variable) it is the address. */
struct cws_result {
    enum ptx_type type;                 /* PTX_NONE: a plain number */
    bool is_float;
    wide i;
    double f;
    uint64_t low, high;                 /* bits, where `type` says what of */
    enum cwi_where space;               /* of an address of a variable; CWI_NOWHERE: none is said */
    const struct ptx_symbol *variable;
};

struct cws_cursor {
    uint32_t thread, step, frame;       /* frame: the one that registers are of */
};

/* Evaluate text from *text on, and move *text behind. False: `why` says in a line what is wrong. */
bool cws_evaluate(struct cws *s, const struct cws_cursor *at, const char **text, struct cws_result *out, char *why, size_t size);
/* Whether that says that a value is not known here, and nothing that is wrong. */
bool cws_unknown(const char *why);
/* "true" in conditions; a register that nothing has written makes them false. */
bool cws_holds(struct cws *s, const struct cws_cursor *at, const char *text);
/* A register's value and the type that it is best read as. False: nothing has written it. */
bool cws_named_register(struct cws *s, const struct cws_cursor *at, uint32_t reg, struct cws_bits *bits, unsigned *type);
uint32_t cws_find_register(const struct ptx_function *fn, const char *name, size_t size);
/* "f32", "x", "4xw" and such behind a slash. */
struct cws_format {
    unsigned count, type;               /* PTX_NONE: as the value is */
    char letter;                        /* x d u o t f c a, or 0 */
};
bool cws_read_format(const char **text, struct cws_format *out);
/* Bits as a value of a type, with a buffer's name behind an address. */
void cws_print_bits(const struct cws *s, uint64_t low, uint64_t high, unsigned type, char letter, struct cw_buf *out);
/* "out+4" of an address as recorded; false: in no buffer. */
bool cws_address_text(const struct cws *s, uint64_t address, char *out, size_t size);
enum ptx_type cws_type_named(const char *name, size_t size);
enum cwi_where cws_space_named(const char *name, size_t size);

enum { CWS_BREAK, CWS_WATCH_REGISTER, CWS_WATCH_MEMORY };

struct cws_point {
    unsigned number, kind, hits;
    bool disabled, any;                 /* any: of every thread */
    char *text;                         /* as it was asked for */
    char *condition;                    /* NULL: none */
    bool *at;                           /* BREAK: by instruction */
    uint32_t thread;                    /* BREAK: CWS_NONE: the chosen one; else this */
    uint32_t reg, frame;                /* WATCH_REGISTER */
    enum cwi_where space;               /* WATCH_MEMORY */
    uint64_t address;
    unsigned type, size;
    uint8_t old[16], now[16];           /* while moving: its value */
    bool old_known[16], now_known[16];
};

struct cws_ui {
    struct cws s;
    const char *file, *source;          /* the dump; the folder of the source files, or NULL */
    struct cws_cursor at;
    uint64_t block;                     /* chosen, as is at.thread */
    bool json, colour, echo, quit, wrong;
    struct cws_point *points;
    uint32_t npoints;
    unsigned numbers;                   /* given out */
    char **displays;                    /* NULL: taken away */
    uint32_t ndisplays;
    uint32_t listed_text, listed;       /* line that `list` goes on at; 0: at the position */
    uint64_t examined;                  /* address that `x` goes on at */
    enum cwi_where examined_space;
    struct cws_format examined_format;
    struct cw_buf out;
};

/* step_show.c */
void cws_say(struct cws_ui *u, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void cws_who(const struct cws_ui *u, uint32_t thread, char *out, size_t size);
/* The instruction at the position, with the source line where there is one; NULL: the thread has ended. */
const struct cwi_inst *cws_here(const struct cws_ui *u);
void cws_show_stop(struct cws_ui *u, const char *reason, const struct cws_point *p);
void cws_show_threads(struct cws_ui *u, bool all);
void cws_show_registers(struct cws_ui *u, bool all);
void cws_show_backtrace(struct cws_ui *u);
void cws_show_list(struct cws_ui *u, uint32_t text, uint32_t line);
void cws_show_launch(struct cws_ui *u);
void cws_show_locals(struct cws_ui *u);
void cws_show_point(struct cws_ui *u, const struct cws_point *p);
/* "3 (0x00000003)" or that it is not known. */
void cws_show_bytes(const struct cws_ui *u, const uint8_t *bytes, const bool *known, unsigned type, char letter, struct cw_buf *out);
bool cws_print(struct cws_ui *u, const char *text, bool quiet);
bool cws_examine(struct cws_ui *u, const char *text);
/* Lines of a source file around one. False: it cannot be read. */
bool cws_show_source_list(struct cws_ui *u, const char *file, uint32_t line);
uint32_t cws_depth(const struct cws_ui *u, uint32_t thread, uint32_t step);

/* step_move.c */
enum cws_goal {
    CWS_RUN,                            /* to a point, or the end of the record */
    CWS_INSTRUCTION, CWS_LINE,          /* the next; `over`: not in a function that is called */
    CWS_LEAVE,                          /* the function */
    CWS_PLACE,                          /* an instruction of `at` */
};
/* Move the position, and say where it is. */
void cws_move(struct cws_ui *u, enum cws_goal goal, bool over, bool back, uint64_t times, const bool *place);
/* Instructions at "42", "blur.cu:41", "module.ptx:42", "function"; owned by the caller. NULL: said. */
bool *cws_place(struct cws_ui *u, const char *text, size_t size);

/* One command. */
void cws_command(struct cws_ui *u, const char *line);

#endif
