;;;; SPDX-License-Identifier: Apache-2.0
;;;; See language.sh. SBCL's collector stops threads by SIGUSR2, also ours once they have called it; its code traps; it makes conditions of SIGSEGV.
(load-shared-object "libwork.so")
(defvar *calls* (list 0))
(defvar *wrong* (list 0))

(define-alien-callable called void ((unused unsigned-long))
  (when (loop repeat 2000 collect (make-array 10 :initial-element unused))
    (sb-ext:atomic-incf (car *calls*)))
  (values))

(defun work (rounds)
  (alien-funcall (extern-alien "work" (function int int system-area-pointer)) rounds (alien-sap (alien-callable-function 'called))))

(defun faults ()
  (when (handler-case (setf (sb-sys:sap-ref-64 (sb-sys:int-sap 8) 0) 1) (sb-sys:memory-fault-error () nil))
    (sb-ext:atomic-incf (car *wrong*))))

(defun one-thread ()
  (dotimes (i 10)
    (unless (zerop (work 5)) (sb-ext:atomic-incf (car *wrong*)))
    (dotimes (k 20)
      (faults)
      (let ((junk (loop repeat 2000 collect (cons k (make-array 3))))) (setf (car (first junk)) i)))
    (sb-ext:gc :full t)))

(mapc #'sb-thread:join-thread (loop repeat 8 collect (sb-thread:make-thread #'one-thread)))
(let ((fault (alien-funcall (extern-alien "wild" (function int)))))
  (faults)
  (format t "calls ~a wrong ~a wild ~a~%" (car *calls*) (car *wrong*) fault)
  (sb-ext:exit :code (if (and (= (car *calls*) 400) (zerop (car *wrong*)) (= fault 700)) 0 1) :abort t))
