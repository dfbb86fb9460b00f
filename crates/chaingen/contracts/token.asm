; A token in the way of ERC-20. Anyone may mint.
;
; Storage: balance of A at keccak(A . 0), what S may spend of O at keccak(S . keccak(O . 1)),
; the supply at 2. Amounts move as Solidity code moves them: two hashes, two reads, two
; writes, one log.
;
; Comments show the stack after a line, the top first.
TRANSFER = 0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef
APPROVAL = 0x8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925
        PUSH 0 CALLDATALOAD PUSH 224 SHR
        DUP1 PUSH 0xa9059cbb EQ PUSH transfer JUMPI
        DUP1 PUSH 0x23b872dd EQ PUSH transfer_from JUMPI
        DUP1 PUSH 0x70a08231 EQ PUSH balance_of JUMPI
        DUP1 PUSH 0x095ea7b3 EQ PUSH approve JUMPI
        DUP1 PUSH 0x40c10f19 EQ PUSH mint JUMPI
        DUP1 PUSH 0x18160ddd EQ PUSH total_supply JUMPI
fail:   JUMPDEST
        PUSH 0 PUSH 0 REVERT

transfer:                                   ; (to, amount)
        JUMPDEST
        PUSH true
        PUSH 36 CALLDATALOAD PUSH 4 CALLDATALOAD CALLER
        PUSH move JUMP

transfer_from:                              ; (from, to, amount)
        JUMPDEST
        PUSH 4 CALLDATALOAD PUSH 0 MSTORE
        PUSH 1 PUSH 32 MSTORE
        PUSH 64 PUSH 0 KECCAK256 PUSH 32 MSTORE
        CALLER PUSH 0 MSTORE
        PUSH 64 PUSH 0 KECCAK256            ; slot
        DUP1 SLOAD                          ; allowed slot
        PUSH 68 CALLDATALOAD                ; amount allowed slot
        DUP1 DUP3 LT PUSH fail JUMPI
        SWAP1 SUB SWAP1 SSTORE
        PUSH true
        PUSH 68 CALLDATALOAD PUSH 36 CALLDATALOAD PUSH 4 CALLDATALOAD
        PUSH move JUMP

; from to amount back -> (nothing)
move:
        JUMPDEST
        DUP1 PUSH 0 MSTORE
        PUSH 0 PUSH 32 MSTORE
        PUSH 64 PUSH 0 KECCAK256            ; slot from to amount back
        DUP1 SLOAD                          ; balance slot from to amount back
        DUP5 DUP2 LT PUSH fail JUMPI
        DUP5 SWAP1 SUB SWAP1 SSTORE         ; from to amount back
        DUP2 PUSH 0 MSTORE
        PUSH 64 PUSH 0 KECCAK256            ; slot from to amount back
        DUP1 SLOAD                          ; balance slot from to amount back
        DUP5 ADD SWAP1 SSTORE               ; from to amount back
        DUP3 PUSH 0 MSTORE
        PUSH TRANSFER PUSH 32 PUSH 0 LOG3   ; amount back
        POP JUMP

true:
        JUMPDEST
        PUSH 1 PUSH 0 MSTORE
        PUSH 32 PUSH 0 RETURN

balance_of:                                 ; (account)
        JUMPDEST
        PUSH 4 CALLDATALOAD PUSH 0 MSTORE
        PUSH 0 PUSH 32 MSTORE
        PUSH 64 PUSH 0 KECCAK256 SLOAD PUSH 0 MSTORE
        PUSH 32 PUSH 0 RETURN

approve:                                    ; (spender, amount)
        JUMPDEST
        CALLER PUSH 0 MSTORE
        PUSH 1 PUSH 32 MSTORE
        PUSH 64 PUSH 0 KECCAK256 PUSH 32 MSTORE
        PUSH 4 CALLDATALOAD PUSH 0 MSTORE
        PUSH 36 CALLDATALOAD
        PUSH 64 PUSH 0 KECCAK256 SSTORE
        PUSH 36 CALLDATALOAD PUSH 0 MSTORE
        PUSH 4 CALLDATALOAD CALLER PUSH APPROVAL PUSH 32 PUSH 0 LOG3
        PUSH true JUMP

mint:                                       ; (to, amount)
        JUMPDEST
        PUSH 36 CALLDATALOAD PUSH 2 SLOAD ADD PUSH 2 SSTORE
        PUSH 4 CALLDATALOAD PUSH 0 MSTORE
        PUSH 0 PUSH 32 MSTORE
        PUSH 64 PUSH 0 KECCAK256            ; slot
        DUP1 SLOAD PUSH 36 CALLDATALOAD ADD SWAP1 SSTORE
        PUSH 36 CALLDATALOAD PUSH 0 MSTORE
        PUSH 4 CALLDATALOAD PUSH 0 PUSH TRANSFER PUSH 32 PUSH 0 LOG3
        PUSH true JUMP

total_supply:
        JUMPDEST
        PUSH 2 SLOAD PUSH 0 MSTORE
        PUSH 32 PUSH 0 RETURN
