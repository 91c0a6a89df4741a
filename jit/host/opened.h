/* SPDX-License-Identifier: Apache-2.0
 * Private members of LLVM's classes. Explicit instantiations may name them: each makes a function that gives out one. Private to jit/host. */
#ifndef CWJ_HOST_OPENED_H
#define CWJ_HOST_OPENED_H

namespace {

template <typename Part, typename Part::pointer Member> struct opened {
    friend typename Part::pointer reach(Part) { return Member; }
};

} // namespace

/* In an unnamed namespace: OPEN(class, member, type of a pointer to it), and PART(object, member) is that member. */
#define OPEN(of, name, ...)                                                                                                                  \
    struct name##_part {                                                                                                                     \
        using pointer = __VA_ARGS__;                                                                                                         \
        friend pointer reach(name##_part);                                                                                                   \
    };                                                                                                                                       \
    template struct opened<name##_part, &of::name>
#define PART(object, name) ((object).*reach(name##_part()))

#endif
