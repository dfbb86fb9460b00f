; Hashes as often as calldata says: two words mostly, a kilobyte every sixteenth time, as
; for the nodes of a trie.
        CALLER PUSH 0 MSTORE
        PUSH 0 CALLDATALOAD                 ; left
again:  JUMPDEST
        PUSH 64 PUSH 0 KECCAK256            ; hash left
        DUP1 PUSH 0 MSTORE
        DUP2 PUSH 15 AND PUSH small JUMPI
        DUP1 PUSH 992 MSTORE
        PUSH 1024 PUSH 0 KECCAK256 PUSH 32 MSTORE
small:  JUMPDEST
        POP
        PUSH 1 SWAP1 SUB
        DUP1 PUSH again JUMPI
        PUSH 0 MLOAD PUSH 0 SSTORE
        PUSH 32 PUSH 0 RETURN
