; A pool of two tokens that swaps by constant product, with three calls.
;
; Calldata: amount, which token comes in (0 or 1), who gets the other one.
; Storage: the tokens at 0 and 1, their reserves at 2 and 3, a lock at 4.
SWAP = 0xd78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822
        PUSH 4 SLOAD PUSH fail JUMPI
        PUSH 1 PUSH 4 SSTORE

        ; token_in.transferFrom(caller, this, amount)
        PUSH 0x23b872dd PUSH 224 SHL PUSH 0 MSTORE
        CALLER PUSH 4 MSTORE
        ADDRESS PUSH 36 MSTORE
        PUSH 0 CALLDATALOAD PUSH 68 MSTORE
        PUSH 32 PUSH 0 PUSH 100 PUSH 0 PUSH 0
        PUSH 32 CALLDATALOAD SLOAD GAS CALL
        ISZERO PUSH fail JUMPI

        ; out = reserve_out * amount * 997 / (reserve_in * 1000 + amount * 997)
        PUSH 0 CALLDATALOAD PUSH 997 MUL            ; paid
        PUSH 2 PUSH 32 CALLDATALOAD ADD SLOAD       ; reserve_in paid
        DUP1 PUSH 1000 MUL DUP3 ADD                 ; divisor reserve_in paid
        PUSH 3 PUSH 32 CALLDATALOAD SWAP1 SUB SLOAD ; reserve_out divisor reserve_in paid
        DUP4 DUP2 MUL                               ; product reserve_out divisor reserve_in paid
        DUP3 SWAP1 DIV                              ; out reserve_out divisor reserve_in paid
        SWAP3 PUSH 0 CALLDATALOAD ADD               ; new_in reserve_out divisor out paid
        PUSH 2 PUSH 32 CALLDATALOAD ADD SSTORE      ; reserve_out divisor out paid
        DUP3 SWAP1 SUB                              ; new_out divisor out paid
        PUSH 3 PUSH 32 CALLDATALOAD SWAP1 SUB SSTORE
        POP                                         ; out paid

        ; token_out.transfer(recipient, out)
        PUSH 0xa9059cbb PUSH 224 SHL PUSH 0 MSTORE
        PUSH 64 CALLDATALOAD PUSH 4 MSTORE
        DUP1 PUSH 36 MSTORE
        PUSH 32 PUSH 0 PUSH 68 PUSH 0 PUSH 0
        PUSH 1 PUSH 32 CALLDATALOAD SWAP1 SUB SLOAD GAS CALL
        ISZERO PUSH fail JUMPI

        ; token_in.balanceOf(this) must not be below the reserve
        PUSH 0x70a08231 PUSH 224 SHL PUSH 0 MSTORE
        ADDRESS PUSH 4 MSTORE
        PUSH 32 PUSH 0 PUSH 36 PUSH 0
        PUSH 32 CALLDATALOAD SLOAD GAS STATICCALL
        ISZERO PUSH fail JUMPI
        PUSH 2 PUSH 32 CALLDATALOAD ADD SLOAD       ; reserve_in out paid
        PUSH 0 MLOAD LT PUSH fail JUMPI

        PUSH 32 MSTORE                              ; paid
        PUSH 0 CALLDATALOAD PUSH 0 MSTORE
        PUSH 64 CALLDATALOAD CALLER PUSH SWAP PUSH 64 PUSH 0 LOG3
        PUSH 0 PUSH 4 SSTORE
        PUSH 32 PUSH 32 RETURN
fail:   JUMPDEST
        PUSH 0 PUSH 0 REVERT
