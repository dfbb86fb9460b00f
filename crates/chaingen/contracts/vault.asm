; Ether in, balance; balance in, ether (as WETH does).
;
; Calldata: nothing deposits; one word withdraws that much, by a call with value.
; Storage: balance of A at keccak(A . 0).
DEPOSIT    = 0xe1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c
WITHDRAWAL = 0x7fcf532c15f0a6db0bd6d0e038bea71d30d808c7d98cb3bf7268a95bf5081b65
        CALLER PUSH 0 MSTORE
        PUSH 64 PUSH 0 KECCAK256            ; slot
        CALLDATASIZE PUSH withdraw JUMPI
        DUP1 SLOAD CALLVALUE ADD SWAP1 SSTORE
        CALLVALUE PUSH 0 MSTORE
        CALLER PUSH DEPOSIT PUSH 32 PUSH 0 LOG2
        STOP
withdraw:
        JUMPDEST
        PUSH 0 CALLDATALOAD                 ; amount slot
        DUP2 SLOAD                          ; balance amount slot
        DUP2 DUP2 LT PUSH fail JUMPI
        DUP2 SWAP1 SUB DUP3 SSTORE          ; amount slot
        PUSH 0 PUSH 0 PUSH 0 PUSH 0 DUP5 CALLER GAS CALL
        ISZERO PUSH fail JUMPI
        PUSH 0 MSTORE
        CALLER PUSH WITHDRAWAL PUSH 32 PUSH 0 LOG2
        STOP
fail:   JUMPDEST
        PUSH 0 PUSH 0 REVERT
