; Sends its value on, in equal parts, to all addresses of its calldata (one word each).
; Failed payments stay here. Logs the last call.
        CALLDATASIZE PUSH 5 SHR             ; count
        DUP1 ISZERO PUSH done JUMPI
        DUP1 CALLVALUE DIV                  ; part count
        PUSH 0                              ; at part count
next:   JUMPDEST
        PUSH 0 PUSH 0 PUSH 0 PUSH 0         ; 0 0 0 0 at part count
        DUP6                                ; part 0 0 0 0 at part count
        DUP6 PUSH 5 SHL CALLDATALOAD        ; to part 0 0 0 0 at part count
        PUSH 90000 CALL                     ; arrived at part count
        PUSH 0 MSTORE
        PUSH 1 ADD                          ; at part count
        DUP3 DUP2 LT PUSH next JUMPI
        PUSH 32 PUSH 0 LOG0
done:   JUMPDEST
        STOP
