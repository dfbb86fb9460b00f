; Init code of a factory's child: writes three slots, and returns the code below.
        CALLER PUSH 0 SSTORE
        NUMBER PUSH 1 SSTORE
        CALLVALUE PUSH 2 SSTORE
        PUSH end-code DUP1 PUSH code PUSH 0 CODECOPY
        PUSH 0 RETURN
; Word 0: counts in its slots. Any other: destroys itself in favor of its caller.
code:
        PUSH 0 CALLDATALOAD PUSH destroy-code JUMPI
        PUSH 3 SLOAD PUSH 1 ADD DUP1 PUSH 3 SSTORE
        PUSH 0 MSTORE STOP
destroy:
        JUMPDEST
        CALLER SELFDESTRUCT
end:
