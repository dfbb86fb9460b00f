; Fails inside, and goes on. Calldata: how.
;
; Zero: calls itself with a wei, in all the ways below, one after the other, and counts
; those that failed. 1: writes, logs, pays the sender, then reverts with words.
; 2: an invalid instruction. 3: runs until its gas is gone. 4: jumps to nowhere. 5: reads
; result data that is not there. Anything else: reverts at once.
        PUSH 0 CALLDATALOAD
        DUP1 ISZERO PUSH all JUMPI
        DUP1 PUSH 1 EQ PUSH undone JUMPI
        DUP1 PUSH 2 EQ PUSH broken JUMPI
        DUP1 PUSH 3 EQ PUSH forever JUMPI
        DUP1 PUSH 4 EQ PUSH nowhere JUMPI
        DUP1 PUSH 5 EQ PUSH beyond JUMPI
        PUSH 0 PUSH 0 REVERT

all:    JUMPDEST                            ; how = 0
        PUSH 1 ADD                          ; how
        DUP1 PUSH 0 MSTORE
        PUSH 32 PUSH 32 PUSH 32 PUSH 0 PUSH 1 ADDRESS PUSH 60000 CALL
        ISZERO PUSH 0 SLOAD ADD PUSH 0 SSTORE
        RETURNDATASIZE PUSH 0 PUSH 64 RETURNDATACOPY
        DUP1 PUSH 6 GT PUSH all JUMPI
        PUSH 96 PUSH 0 LOG0
        STOP

undone: JUMPDEST
        TIMESTAMP NUMBER SSTORE
        PUSH 32 PUSH 0 LOG0
        PUSH 0 PUSH 0 PUSH 0 PUSH 0 CALLVALUE ORIGIN PUSH 0 CALL POP
        PUSH 0x756e646f6e65 PUSH 0 MSTORE   ; "undone"
        PUSH 32 PUSH 0 REVERT
broken:
        JUMPDEST INVALID
forever:
        JUMPDEST PUSH forever JUMP
nowhere:
        JUMPDEST PUSH 1 JUMP
beyond: JUMPDEST
        PUSH 1 PUSH 0 PUSH 0 RETURNDATACOPY
        STOP
