#!/usr/bin/env bash
# A guided tour: a small sample chain has planted scenarios, and each is solved by one or two
# commands. Every answer is checked.
#
#   scripts/tour.sh [PATH OF txgraph]
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

need_txgraph "${1:-}"
chain=$PWD/testdata/small/v2
make_scratch
unpack "$chain"
cd "$scratch"
export XDG_CACHE_HOME=$scratch/cache
unset TXGRAPH_DATADIR RETH_DATADIR TXGRAPH_SOURCE TXGRAPH_INDEX TXGRAPH_CLUSTER
# Found in the current folder: no command below names the node.
printf '[node]\ndatadir = "node"\nchain = "%s/genesis.json"\n' "$chain" >txgraph.toml

usd6=0xd601451207128971898aab8654521699f35222e2
oza=0xc982f6837de3bef0547ecb84171688b6a2bd4cd2
art=0x7b1569291169af16e487e29cddd3f2da36ad0a35

# ask ARGUMENTS...: runs a command as a person types it. The answer and the notes are in `answer`.
ask() {
    printf '\n$ txgraph %s\n' "$*"
    "$txgraph" "$@" >answer 2>notes || { cat answer notes >&2; die "txgraph $* failed"; }
    sed -n '1,12p' answer
    sed 's/^/# /' notes
    cat notes >>answer
}

# found TEXT...: the last answer contains all of these.
found() {
    local text
    for text in "$@"; do
        grep -qiF -- "$text" answer || die "the answer lacks $text"
    done
}

# absent TEXT: the last answer does not contain it.
absent() { ! grep -qiF -- "$1" answer || die "the answer contains $1"; }

# rows N: the last answer has N rows of data.
rows() {
    local count
    count=$(grep -c '^[0-9]*,' answer)
    [ "$count" -eq "$1" ] || die "the answer has $count rows, not $1"
}

say "A thief peels a little off at each hop: follow the token to the end"
ask graph -r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 -t "$usd6" -n all
rows 12
found 0x02313044651ff0b1160f47dc0fafa1c07e6a10fe 0x5149f9591ad4bba78320c6e8f09fca122bd2441e

say "The same with ether"
ask graph -r 0x2b0a837307765a8344c808b0f39afe7599371f39 -t eth -n all
found 0xcaf0f885dfc713f4816f956bd1e8776035960746 0x8be025a391e041c11b8aabf719ce0a9c9bf9fe81

say "Who passes a token round in circles?"
ask analyze cycles -t "$oza"
found 229fF1 92614 d290F

say "Deposit addresses that are emptied into one wallet, and who paid into them"
ask graph -r 0x46090d05ee648274f4895bc27c1f97ec1dc51a0d -t "$usd6" -d in -n 2
found 0x95dc8a905bf6488bc52147ac4ebd77d3aab83dc0 0x10e00a14b5481339d1f70d7b0875ad3acf3c9c12 \
    0xbdc9c89377a7be4222f86af6ee8ef85f1cdc8e62

say "Many senders, one address, many receivers"
ask graph -r 0xefb01bc62e4ac1867c714e56d6cb8dc3c4e28454 -t "$usd6" -d both
rows 8

say "A branch that ends at a contract says so ..."
ask graph -r 0x3247604d976c4a7d67f12cc29593e4af5fcc8f90 -t eth -n 2
found contract --with-internal
say "... and goes on with the transfers inside of transactions"
ask graph -r 0x3247604d976c4a7d67f12cc29593e4af5fcc8f90 -t eth -n 2 --with-internal
found 0x1aa9ed931d998435a10c9e12bcff6320e88776d1 0x8ce96b556c71b61829a377333f3c7d7fc7305c85

say "The owners of one piece of art"
ask transfers -t "$art" --token-id 1
rows 7
found 0x0b78c6d356be69282a966ec61f9db4ef48780d73 0xca8a7fc16a04513c7ecf8478db43c5317a322329

say "A lookalike of a partner's address"
ask graph -r 0x29f07ed6888aec9ec900c360c424e4e2c63040b5 -t "$usd6"
found "address poisoning" 0x78d2e76d462a591e8c1eccc4e2abc34b5cde36fd

say "An airdrop: one transaction, twenty receivers"
ask graph -r 0xcc346449a79058a09ecf17cc9d8f9ec64b3c7529 -t "$oza"
found 0x15e38fb6100fb67e454d3feea7969e0f9c086bb4 0x35715da91075bf5b50e7f4d47b98f4f83d1d1f52

say "Logs that look like transfers and are none"
ask transfers --malformed -t 0xade095461a36f28b5dd36ff08ecd7ce69c9cdbd1
found "31 bytes of data" "0 indexed words" "none"

say "Money that left before it came is not followed"
ask graph -r 0xeb3e337f159925726fa27ddbe7db765fb81209d1 -t "$oza" -n 2 --time-respecting
found 0x67f45b40987d38b5ef087a4c4fee25bd1e697a00
absent 0xdca8cfb25054150dfd47b438fa4aab41c2b2916d

say "What moved inside of a transaction, and what was undone"
ask replay transfers --tx 4:0
found 0x1aaeb68a29c5fb6f5de51f04da8e33a1267dfb22
absent 0x48836b4920297ccdace7bc4b605e01f9b85923a8
ask tx 4:0 --trace
found "CALL 0x" " gas]" "changes of the state"

say "The storage of a contract at two blocks"
ask storage 0x07eda8e2a1b0cb610b8dcf474323fd801d6e636c 0 1 --block 23
found "0x0  0x0000000000000000000000000000000000000000000000000000000000000007"
ask storage 0x07eda8e2a1b0cb610b8dcf474323fd801d6e636c 0 1 --block 24
found "0x0  0x00000000000000000000000000000000000000000000000000000000000004d2"

say "A query to a contract"
ask call "$usd6" 'symbol()(string)'
found USD6
ask balance 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 -t "$usd6"
found " USD6"

say "Which transfers of the chain look like laundering, an exchange, or a fraud?"
ask analyze patterns --with-internal --table patterns -f csv
found peel-chain,1,0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 \
    sweep,1,0x46090d05ee648274f4895bc27c1f97ec1dc51a0d 0x29f07ed6888aec9ec900c360c424e4e2c63040b5 \
    0xaecb301df506d89934995cf39ba7810c9fc6466b 0xcc346449a79058a09ecf17cc9d8f9ec64b3c7529

say "Who is this?"
ask address 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0
found "no contract" "first funder" "signed by" "0 USD6"
ask address 0x07eda8e2a1b0cb610b8dcf474323fd801d6e636c
found "contract of " "created       by contract 0x8De63d32c77eC42Df0c62faF7CFbD783f1E94014"

say "How did tokens come from one address to another?"
ask path 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 0x5149f9591ad4bba78320c6e8f09fca122bd2441e
found "shortest and earliest route, 6 transfers" USD6

say "Who is behind two deposit addresses?"
ask common 0x95dc8a905bf6488bc52147ac4ebd77d3aab83dc0 0x10e00a14b5481339d1f70d7b0875ad3acf3c9c12
found 0x8e3CF3736BF665C84934399AB9257c0e7Cfcac46

say "What happened in a transaction, with names of one's own"
printf 'address,name,category\n0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0,The thief,scam\n' >names.csv
ask tx 13:5 --labels names.csv
found "The thief" "transfer(" "net changes"
ask transfers --tx 13:5 --columns transaction_from,method,symbol,amount
found "transfer(address,uint256)" USD6

say "What if the token had refused the transfer?"
printf '{"state": {"%s": {"code": "0x5f5ffd"}}}' "$usd6" >if.json
ask replay trace call --tx 13:5 --override if.json --format tree
found reverted

say "Keep an answer with its evidence, report it, and run its command again"
ask case new theft --title "Theft of USD6"
ask case add theft -- graph -r 0x4545aa9c2a6019f57de4d3c92661c6482e9ab8b0 -n 3 -o graph.csv
ask case report theft
ask case verify theft --rerun
found "the same bytes again"

say "done: every scenario was found"
