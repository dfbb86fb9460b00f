; Sends all it gets to the address at storage 0, and counts at 1.
        PUSH 1 PUSH 1 SLOAD ADD PUSH 1 SSTORE
        PUSH 0 PUSH 0 PUSH 0 PUSH 0 CALLVALUE PUSH 0 SLOAD GAS CALL
        ISZERO PUSH fail JUMPI
        STOP
fail:   JUMPDEST
        PUSH 0 PUSH 0 REVERT
