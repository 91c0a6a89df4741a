/* SPDX-License-Identifier: Apache-2.0
 * work.c for Work.java. */
#include <jni.h>

int work(int rounds, void (*call)(void *));
int wild(void);
JNIEXPORT jint JNICALL Java_Work_work(JNIEnv *e, jclass c, jint rounds);
JNIEXPORT jint JNICALL Java_Work_wild(JNIEnv *e, jclass c);

static JavaVM *machine;
static jclass program;
static jmethodID called;

JNIEXPORT jint JNICALL
JNI_OnLoad(JavaVM *vm, void *unused)
{
    JNIEnv *e;
    (void)unused;
    machine = vm;
    if ((*vm)->GetEnv(vm, (void **)&e, JNI_VERSION_10) != JNI_OK)
        return JNI_ERR;
    program = (*e)->NewGlobalRef(e, (*e)->FindClass(e, "Work"));
    called = (*e)->GetStaticMethodID(e, program, "called", "()V");
    return JNI_VERSION_10;
}

static void
call(void *unused)
{
    JNIEnv *e;
    (void)unused;
    if ((*machine)->AttachCurrentThread(machine, (void **)&e, NULL) == JNI_OK)
        (*e)->CallStaticVoidMethod(e, program, called);
    (*machine)->DetachCurrentThread(machine);
}

JNIEXPORT jint JNICALL
Java_Work_work(JNIEnv *e, jclass c, jint rounds)
{
    (void)e, (void)c;
    return work(rounds, call);
}

JNIEXPORT jint JNICALL
Java_Work_wild(JNIEnv *e, jclass c)
{
    (void)e, (void)c;
    return wild();
}
