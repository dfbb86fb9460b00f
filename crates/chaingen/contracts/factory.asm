; Makes children, uses them, and lets them destroy themselves.
;
; Calldata: what to do, salt. 0 creates (CREATE), 1 creates at a known place (CREATE2), 2
; creates and destroys at once, 3 destroys the child that was made last. Value goes to
; the child. Storage: the last child at 0, how many at 1.
;
; A child is `child.asm`: this code is followed by it.
        PUSH 0 CALLDATALOAD PUSH 3 EQ PUSH destroy JUMPI
        CODESIZE PUSH child SWAP1 SUB       ; length
        DUP1 PUSH child PUSH 0 CODECOPY     ; length
        PUSH 0 CALLDATALOAD PUSH 1 EQ PUSH salted JUMPI
        PUSH 0 CALLVALUE CREATE             ; child
        PUSH made JUMP
salted: JUMPDEST
        PUSH 32 CALLDATALOAD SWAP1          ; length salt
        PUSH 0 CALLVALUE CREATE2            ; child
made:   JUMPDEST
        DUP1 ISZERO PUSH fail JUMPI
        DUP1 PUSH 0 SSTORE
        PUSH 1 SLOAD PUSH 1 ADD PUSH 1 SSTORE
        PUSH 0 PUSH 0 MSTORE
        PUSH 32 PUSH 0 PUSH 32 PUSH 0 PUSH 0 DUP6 GAS CALL
        ISZERO PUSH fail JUMPI              ; child
        PUSH 0 CALLDATALOAD PUSH 2 EQ PUSH at_once JUMPI
        PUSH 0 MSTORE
        PUSH 32 PUSH 0 RETURN
destroy:
        JUMPDEST
        PUSH 0 SLOAD                        ; child
at_once:
        JUMPDEST
        PUSH 1 PUSH 0 MSTORE
        PUSH 0 PUSH 0 PUSH 32 PUSH 0 PUSH 0 DUP6 GAS CALL
        POP
        PUSH 0 PUSH 0 SSTORE
        STOP
fail:   JUMPDEST
        PUSH 0 PUSH 0 REVERT
child:
