; Pure computing in signed fixed point (10^18), as a ray tracer or a pricing curve does:
; iterates z <- z^2 + c with complex numbers, and counts how long z stays near.
;
; Calldata: iterations, real and imaginary part of c. Nothing is read or written.
ONE  = 1000000000000000000
FOUR = 4000000000000000000
        PUSH 64 CALLDATALOAD PUSH 32 CALLDATALOAD PUSH 0 CALLDATALOAD
        PUSH 0 PUSH 0 PUSH 0                ; x y near left cx cy
again:  JUMPDEST
        PUSH ONE DUP2 DUP1 MUL SDIV         ; xx x y near left cx cy
        PUSH ONE DUP4 DUP1 MUL SDIV         ; yy xx x y near left cx cy
        ; Near: |z|^2 < 4. Otherwise start again at the mixed remainders.
        DUP2 DUP2 ADD PUSH FOUR SGT PUSH near JUMPI
        POP POP
        PUSH ONE SWAP1 SMOD SWAP1 PUSH ONE SWAP1 SMOD SWAP1
        PUSH next JUMP
near:   JUMPDEST
        SWAP1 SUB DUP6 ADD                  ; nx x y near left cx cy
        SWAP2                               ; y x nx near left cx cy
        MUL PUSH 1 SHL PUSH ONE SWAP1 SDIV  ; 2xy nx near left cx cy
        DUP6 ADD SWAP1                      ; nx ny near left cx cy
        SWAP2 PUSH 1 ADD SWAP2              ; x y near left cx cy
next:   JUMPDEST
        ; left - 1, without disturbing the rest
        SWAP3 PUSH 1 SWAP1 SUB SWAP3
        DUP4 PUSH again JUMPI
        MULMOD PUSH 0 MSTORE                ; cx cy
        PUSH 32 PUSH 0 RETURN
