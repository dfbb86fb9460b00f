; Makes the calls that its calldata lists, one after the other, and fails if one does.
;
; Each is: whom, value, length of the input (a word each), then the input.
        PUSH 0                              ; at
next:   JUMPDEST
        CALLDATASIZE DUP2 LT PUSH one JUMPI
        STOP
one:    JUMPDEST
        DUP1 PUSH 64 ADD CALLDATALOAD       ; length at
        DUP1 DUP3 PUSH 96 ADD PUSH 0 CALLDATACOPY
        PUSH 0 PUSH 0 DUP3 PUSH 0           ; 0 length 0 0 length at
        DUP6 PUSH 32 ADD CALLDATALOAD       ; value 0 length 0 0 length at
        DUP7 CALLDATALOAD                   ; whom value 0 length 0 0 length at
        GAS CALL
        ISZERO PUSH fail JUMPI              ; length at
        ADD PUSH 96 ADD                     ; at
        PUSH next JUMP
fail:   JUMPDEST
        RETURNDATASIZE PUSH 0 PUSH 0 RETURNDATACOPY
        RETURNDATASIZE PUSH 0 REVERT
