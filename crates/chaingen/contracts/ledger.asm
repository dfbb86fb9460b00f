; Storage-heavy: walks a run of slots.
;
; Calldata: what to do, first slot, how many. 0 adds to each, 1 clears each (refunds), 2
; sums them up and keeps the sum.
        PUSH 64 CALLDATALOAD PUSH 32 CALLDATALOAD   ; slot left
        PUSH 0 CALLDATALOAD
        DUP1 PUSH 1 EQ PUSH clear JUMPI
        PUSH 2 EQ PUSH sum JUMPI
adds:   JUMPDEST
        DUP1 SLOAD DUP2 DUP4 MUL ADD PUSH 1 ADD DUP2 SSTORE
        PUSH 1 ADD SWAP1 PUSH 1 SWAP1 SUB SWAP1
        DUP2 PUSH adds JUMPI
        STOP
clear:  JUMPDEST
        POP
clears: JUMPDEST
        PUSH 0 DUP2 SSTORE
        PUSH 1 ADD SWAP1 PUSH 1 SWAP1 SUB SWAP1
        DUP2 PUSH clears JUMPI
        STOP
sum:    JUMPDEST
        PUSH 0                              ; sum slot left
sums:   JUMPDEST
        DUP2 SLOAD ADD
        SWAP1 PUSH 1 ADD SWAP1
        SWAP2 PUSH 1 SWAP1 SUB SWAP2
        DUP3 PUSH sums JUMPI
        PUSH 0 NOT SSTORE
        STOP
