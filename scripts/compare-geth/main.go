// Executes blocks of Amsterdam with go-ethereum. The first line on stdout contains the system
// contracts. Then each line on stdin is a block with the state before it, and each line on stdout
// what the block did. With -record also as a blockchain test, without the invalid transactions.
// See crates/bench/src/evm/geth.rs for the other side.
package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/types/bal"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/tests"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/holiman/uint256"
)

type block struct {
	Alloc       types.GenesisAlloc `json:"alloc"`
	Number      hexutil.Uint64     `json:"number"`
	Timestamp   hexutil.Uint64     `json:"timestamp"`
	Beneficiary common.Address     `json:"beneficiary"`
	GasLimit    hexutil.Uint64     `json:"gasLimit"`
	BaseFee     *hexutil.Big       `json:"baseFee"`
	BlobBaseFee *hexutil.Big       `json:"blobBaseFee"`
	Prevrandao  common.Hash        `json:"prevrandao"`
	Slot        hexutil.Uint64     `json:"slot"`
	ParentHash  common.Hash        `json:"parentHash"`
	BeaconRoot  common.Hash        `json:"beaconRoot"`

	Transactions []transaction `json:"transactions"`
	Withdrawals  []withdrawal  `json:"withdrawals"`
}

type transaction struct {
	From           common.Address   `json:"from"`
	To             *common.Address  `json:"to"`
	Nonce          hexutil.Uint64   `json:"nonce"`
	Gas            hexutil.Uint64   `json:"gas"`
	Fee            *hexutil.Big     `json:"fee"`
	Tip            *hexutil.Big     `json:"tip"`
	Value          *hexutil.Big     `json:"value"`
	Input          hexutil.Bytes    `json:"input"`
	AccessList     types.AccessList `json:"accessList"`
	BlobHashes     []common.Hash    `json:"blobHashes"`
	BlobFee        *hexutil.Big     `json:"blobFee"`
	Authorizations []authorization  `json:"authorizations"`
}

// An authorization is signed here. Without a key its signature is not valid.
type authorization struct {
	ChainID hexutil.Uint64 `json:"chainId"`
	Address common.Address `json:"address"`
	Nonce   hexutil.Uint64 `json:"nonce"`
	Key     hexutil.Uint64 `json:"key"`
}

type withdrawal struct {
	Address common.Address `json:"address"`
	Gwei    hexutil.Uint64 `json:"gwei"`
}

// What a transaction did. Gas of the block is in two kinds (EIP-8037), before refunds.
type outcome struct {
	Invalid bool           `json:"invalid"`
	Success bool           `json:"success"`
	GasUsed hexutil.Uint64 `json:"gasUsed"`
	Regular hexutil.Uint64 `json:"regular"`
	State   hexutil.Uint64 `json:"state"`
	Refund  hexutil.Uint64 `json:"refund"`
	Logs    common.Hash    `json:"logs"`
	Output  hexutil.Bytes  `json:"output"`

	// Only for readers.
	Why string `json:"why,omitempty"`
}

type result struct {
	Transactions []outcome      `json:"transactions"`
	Fault        bool           `json:"fault"`
	Requests     common.Hash    `json:"requests"`
	AccessList   common.Hash    `json:"accessList"`
	GasUsed      hexutil.Uint64 `json:"gasUsed"`
	StateRoot    common.Hash    `json:"stateRoot"`
	Why          string         `json:"why,omitempty"`
	Test         *test          `json:"test,omitempty"`
}

// A blockchain test with one block.
type test struct {
	Network       string             `json:"network"`
	Pre           types.GenesisAlloc `json:"pre"`
	GenesisRLP    hexutil.Bytes      `json:"genesisRLP"`
	Blocks        []testBlock        `json:"blocks"`
	LastBlockHash common.Hash        `json:"lastblockhash"`
	PostStateHash common.Hash        `json:"postStateHash"`
}

type testBlock struct {
	RLP    hexutil.Bytes          `json:"rlp"`
	Header map[string]common.Hash `json:"blockHeader"`
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func config() *params.ChainConfig {
	config := *params.MergedTestChainConfig
	config.ChainID = big.NewInt(1)
	config.AmsterdamTime = new(uint64)
	config.DepositContractAddress = common.HexToAddress("0x00000000219ab540356cBB839Cbe05303d7705Fa")
	return &config
}

// The hash of a block, as crates/bench/src/evm/geth.rs computes it.
func blockHash(number uint64) common.Hash {
	return crypto.Keccak256Hash(new(big.Int).SetUint64(number).FillBytes(make([]byte, 8)))
}

func privateKey(number uint64) *ecdsa.PrivateKey {
	key, err := crypto.ToECDSA(common.BigToHash(new(big.Int).SetUint64(number)).Bytes())
	check(err)
	return key
}

// The transaction of a message, signed. Senders are the keys 1 and 2.
func sign(config *params.ChainConfig, msg *core.Message) *types.Transaction {
	var data types.TxData
	chain := uint256.MustFromBig(config.ChainID)
	tip, fee := msg.GasTipCap, msg.GasFeeCap
	switch {
	case len(msg.BlobHashes) > 0:
		data = &types.BlobTx{ChainID: chain, Nonce: msg.Nonce, GasTipCap: tip, GasFeeCap: fee, Gas: msg.GasLimit,
			To: *msg.To, Value: msg.Value, Data: msg.Data, AccessList: msg.AccessList,
			BlobFeeCap: msg.BlobGasFeeCap, BlobHashes: msg.BlobHashes}
	case len(msg.SetCodeAuthorizations) > 0:
		data = &types.SetCodeTx{ChainID: chain, Nonce: msg.Nonce, GasTipCap: tip, GasFeeCap: fee, Gas: msg.GasLimit,
			To: *msg.To, Value: msg.Value, Data: msg.Data, AccessList: msg.AccessList,
			AuthList: msg.SetCodeAuthorizations}
	case tip.Cmp(fee) != 0:
		data = &types.DynamicFeeTx{ChainID: config.ChainID, Nonce: msg.Nonce, GasTipCap: tip.ToBig(),
			GasFeeCap: fee.ToBig(), Gas: msg.GasLimit, To: msg.To, Value: msg.Value.ToBig(), Data: msg.Data,
			AccessList: msg.AccessList}
	case len(msg.AccessList) > 0:
		data = &types.AccessListTx{ChainID: config.ChainID, Nonce: msg.Nonce, GasPrice: fee.ToBig(),
			Gas: msg.GasLimit, To: msg.To, Value: msg.Value.ToBig(), Data: msg.Data, AccessList: msg.AccessList}
	default:
		data = &types.LegacyTx{Nonce: msg.Nonce, GasPrice: fee.ToBig(), Gas: msg.GasLimit, To: msg.To,
			Value: msg.Value.ToBig(), Data: msg.Data}
	}
	for number := uint64(1); number <= 2; number++ {
		key := privateKey(number)
		if crypto.PubkeyToAddress(key.PublicKey) == msg.From {
			return types.MustSignNewTx(key, types.LatestSigner(config), data)
		}
	}
	check(fmt.Errorf("no key of %v", msg.From))
	return nil
}

// The block before, which has the same base fee as its successor.
func (block *block) parent(root common.Hash) *types.Header {
	number := new(big.Int).SetUint64(uint64(block.Number) - 1)
	return &types.Header{
		UncleHash:           types.EmptyUncleHash,
		Root:                root,
		TxHash:              types.EmptyTxsHash,
		ReceiptHash:         types.EmptyReceiptsHash,
		Difficulty:          new(big.Int),
		Number:              number,
		GasLimit:            uint64(block.GasLimit),
		GasUsed:             uint64(block.GasLimit) / 2,
		Time:                uint64(block.Timestamp) - 12,
		BaseFee:             block.BaseFee.ToInt(),
		WithdrawalsHash:     &types.EmptyWithdrawalsHash,
		BlobGasUsed:         new(uint64),
		ExcessBlobGas:       new(uint64),
		ParentBeaconRoot:    new(common.Hash),
		RequestsHash:        &types.EmptyRequestsHash,
		BlockAccessListHash: &types.EmptyBlockAccessListHash,
		SlotNumber:          new(uint64),
	}
}

// The test of a block with these results.
func (block *block) test(parent *types.Header, res *result, txs types.Transactions, receipts []*types.Receipt, withdrawals types.Withdrawals) *test {
	slot, blobs := uint64(block.Slot), uint64(0)
	for _, tx := range txs {
		blobs += tx.BlobGas()
	}
	if withdrawals == nil {
		withdrawals = types.Withdrawals{}
	}
	header := &types.Header{
		ParentHash:          parent.Hash(),
		Coinbase:            block.Beneficiary,
		Root:                res.StateRoot,
		Difficulty:          new(big.Int),
		Number:              new(big.Int).SetUint64(uint64(block.Number)),
		GasLimit:            uint64(block.GasLimit),
		GasUsed:             uint64(res.GasUsed),
		Time:                uint64(block.Timestamp),
		MixDigest:           block.Prevrandao,
		BaseFee:             block.BaseFee.ToInt(),
		BlobGasUsed:         &blobs,
		ExcessBlobGas:       new(uint64),
		ParentBeaconRoot:    &block.BeaconRoot,
		RequestsHash:        &res.Requests,
		BlockAccessListHash: &res.AccessList,
		SlotNumber:          &slot,
	}
	body := &types.Body{Transactions: txs, Withdrawals: withdrawals}
	made := types.NewBlock(header, body, receipts, trie.NewStackTrie(nil))
	encoded, err := rlp.EncodeToBytes(made)
	check(err)
	none := &types.Body{Withdrawals: types.Withdrawals{}}
	genesis, err := rlp.EncodeToBytes(types.NewBlock(parent, none, nil, trie.NewStackTrie(nil)))
	check(err)
	return &test{
		Network:    "Amsterdam",
		Pre:        block.Alloc,
		GenesisRLP: genesis,
		Blocks: []testBlock{{encoded, map[string]common.Hash{
			"parentHash":          made.ParentHash(),
			"stateRoot":           made.Root(),
			"transactionsTrie":    made.TxHash(),
			"receiptTrie":         made.ReceiptHash(),
			"withdrawalsRoot":     *made.Header().WithdrawalsHash,
			"requestsHash":        *made.Header().RequestsHash,
			"blockAccessListHash": *made.Header().BlockAccessListHash,
		}}},
		LastBlockHash: made.Hash(),
		PostStateHash: res.StateRoot,
	}
}

func (tx *transaction) message(baseFee *big.Int) *core.Message {
	fee := tx.Fee.ToInt()
	tip := fee
	if tx.Tip != nil {
		tip = tx.Tip.ToInt()
	}
	price := new(big.Int).Add(baseFee, tip)
	if price.Cmp(fee) > 0 {
		price = fee
	}
	msg := &core.Message{
		From:       tx.From,
		To:         tx.To,
		Nonce:      uint64(tx.Nonce),
		Value:      uint256.MustFromBig(tx.Value.ToInt()),
		GasLimit:   uint64(tx.Gas),
		GasPrice:   uint256.MustFromBig(price),
		GasFeeCap:  uint256.MustFromBig(fee),
		GasTipCap:  uint256.MustFromBig(tip),
		Data:       tx.Input,
		AccessList: tx.AccessList,
		BlobHashes: tx.BlobHashes,
	}
	if tx.BlobFee != nil {
		msg.BlobGasFeeCap = uint256.MustFromBig(tx.BlobFee.ToInt())
	}
	for _, it := range tx.Authorizations {
		auth := types.SetCodeAuthorization{
			ChainID: *uint256.NewInt(uint64(it.ChainID)),
			Address: it.Address,
			Nonce:   uint64(it.Nonce),
		}
		if it.Key != 0 {
			var err error
			auth, err = types.SignSetCode(privateKey(uint64(it.Key)), auth)
			check(err)
		}
		msg.SetCodeAuthorizations = append(msg.SetCodeAuthorizations, auth)
	}
	return msg
}

// Executes a block. The refund of a transaction that pays the floor for data is known to tracers
// only, and geth executes differently with a tracer: such a block is executed again for its refunds.
func run(config *params.ChainConfig, block *block, record bool) *result {
	res, complete := execute(config, block, record, nil)
	if complete {
		return res
	}
	var refund uint64
	again, _ := execute(config, block, false, &refund)
	for i := range res.Transactions {
		res.Transactions[i].Refund = again.Transactions[i].Refund
	}
	return res
}

// The same, with the refunds from a tracer if there is a place for them. Returns whether all refunds
// are known.
func execute(config *params.ChainConfig, block *block, record bool, traced *uint64) (*result, bool) {
	pre := tests.MakePreState(rawdb.NewMemoryDatabase(), block.Alloc, false, rawdb.HashScheme)
	defer pre.Close()
	db := pre.StateDB
	number, time := new(big.Int).SetUint64(uint64(block.Number)), uint64(block.Timestamp)
	baseFee := block.BaseFee.ToInt()
	hashOf := blockHash
	var parent *types.Header
	if record {
		parent = block.parent(db.IntermediateRoot(params.Rules{}))
		block.ParentHash = parent.Hash()
		hashOf = func(number uint64) common.Hash {
			if number+1 == uint64(block.Number) {
				return block.ParentHash
			}
			return common.Hash{}
		}
	}
	var vmConfig vm.Config
	if traced != nil {
		vmConfig.Tracer = &tracing.Hooks{OnGasChange: func(old, new uint64, reason tracing.GasChangeReason) {
			if reason == tracing.GasChangeTxRefunds {
				*traced = new - old
			}
		}}
	}
	complete := true
	evm := vm.NewEVM(vm.BlockContext{
		CanTransfer:      core.CanTransfer,
		Transfer:         core.Transfer,
		GetHash:          hashOf,
		Coinbase:         block.Beneficiary,
		GasLimit:         uint64(block.GasLimit),
		BlockNumber:      number,
		Time:             time,
		Difficulty:       new(big.Int),
		BaseFee:          baseFee,
		BlobBaseFee:      block.BlobBaseFee.ToInt(),
		Random:           &block.Prevrandao,
		SlotNum:          uint64(block.Slot),
		CostPerStateByte: params.CostPerStateByte,
	}, db, config, vmConfig)
	defer evm.Release()
	rules := evm.GetRules()
	if !rules.IsAmsterdam {
		check(errors.New("the rules are not those of Amsterdam"))
	}

	list := bal.NewConstructionBlockAccessList()
	core.ProcessBeaconBlockRoot(block.BeaconRoot, evm, list)
	core.ProcessParentBlockHash(block.ParentHash, evm, list)
	gas := core.NewGasPool(uint64(block.GasLimit))
	res := &result{Transactions: []outcome{}}
	var logs []*types.Log
	var txs types.Transactions
	var receipts []*types.Receipt
	valid := 0
	for index := range block.Transactions {
		hash := common.BigToHash(big.NewInt(int64(index + 1)))
		msg := block.Transactions[index].message(baseFee)
		db.SetTxContext(hash, valid, uint32(valid+1))
		snapshot, before := db.Snapshot(), gas.Snapshot()
		done, err := core.ApplyMessage(evm, msg, gas)
		if err != nil {
			db.RevertToSnapshot(snapshot)
			gas.Set(before)
			res.Transactions = append(res.Transactions, outcome{Invalid: true, Why: err.Error()})
			continue
		}
		valid++
		refund := db.GetRefund()
		list.Merge(db.Finalise(rules))
		own := db.GetLogs(hash, number.Uint64(), common.Hash{}, time)
		logs = append(logs, own...)
		if record {
			tx := sign(config, msg)
			receipt := &types.Receipt{Type: tx.Type(), CumulativeGasUsed: gas.CumulativeUsed(), Logs: own}
			if !done.Failed() {
				receipt.Status = types.ReceiptStatusSuccessful
			}
			receipt.Bloom = types.CreateBloom(receipt)
			txs, receipts = append(txs, tx), append(receipts, receipt)
		}
		encoded, err := rlp.EncodeToBytes(own)
		check(err)
		floor, err := core.FloorDataGas(rules, msg.From, msg.To, msg.Value, msg.Data, msg.AccessList)
		check(err)
		it := outcome{
			Success: !done.Failed(),
			GasUsed: hexutil.Uint64(done.UsedGas),
			Regular: hexutil.Uint64(gas.CumulativeExecution() - before.CumulativeExecution()),
			State:   hexutil.Uint64(gas.CumulativeState() - before.CumulativeState()),
			Logs:    crypto.Keccak256Hash(encoded),
			Output:  done.Return(),
		}
		if done.Err != nil {
			it.Why = done.Err.Error()
			it.Output = done.Revert()
		}
		switch {
		case traced != nil:
			it.Refund = hexutil.Uint64(*traced)
		case done.MaxUsedGas > floor:
			it.Refund = hexutil.Uint64(min(refund, done.MaxUsedGas/5))
		default:
			complete = complete && refund == 0
		}
		res.Transactions = append(res.Transactions, it)
	}
	var withdrawals types.Withdrawals
	for _, it := range block.Withdrawals {
		withdrawals = append(withdrawals, &types.Withdrawal{Address: it.Address, Amount: uint64(it.Gwei)})
	}
	requests, after, err := core.PostExecution(context.Background(), config, number, time, logs, withdrawals, evm, uint32(valid+1))
	if err != nil {
		res.Fault, res.Why = true, err.Error()
		return res, complete
	}
	list.Merge(after)
	res.Requests = types.CalcRequestsHash(requests)
	res.AccessList = list.ToEncodingObj().Hash()
	res.GasUsed = hexutil.Uint64(gas.Used())
	if valid == 0 {
		res.GasUsed = 0
	}
	res.StateRoot = db.IntermediateRoot(rules)
	if record {
		res.Test = block.test(parent, res, txs, receipts, withdrawals)
	}
	if os.Getenv("GETH_ACCESS_LIST") != "" {
		res.Why = list.PrettyPrint()
	}
	return res, complete
}

func main() {
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	check(encoder.Encode(core.SystemContractAllocs()))
	check(out.Flush())
	config, record := config(), len(os.Args) > 1 && os.Args[1] == "-record"
	decoder := json.NewDecoder(bufio.NewReaderSize(os.Stdin, 1<<20))
	for decoder.More() {
		block := new(block)
		check(decoder.Decode(block))
		check(encoder.Encode(run(config, block, record)))
		check(out.Flush())
	}
}
