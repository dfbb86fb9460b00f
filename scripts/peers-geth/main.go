// Times benchmark programs on geth's interpreter: one frame after another on a state in
// memory, what a frame changed undone before the next. Prints a line of JSON for each
// program: name, gas used by the frame, keccak of the return data, nanoseconds.
//
//	peers-geth [-ms 200] [-rounds 5] PROGRAM.prog…
//	peers-geth -trace PROGRAM.prog     an EIP-3155 trace on stdout in place of times
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/core/vm/runtime"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/eth/tracers/logger"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"
)

type program struct {
	name       string
	to, caller common.Address
	gas        uint64
	value      *uint256.Int
	data       []byte
	state      *state.StateDB
}

func bytesOf(text string) []byte {
	if text == "-" {
		return nil
	}
	bytes, err := hex.DecodeString(strings.TrimPrefix(text, "0x"))
	check(err)
	return bytes
}

func numberOf(text string) *uint256.Int {
	number, ok := new(big.Int).SetString(strings.TrimPrefix(text, "0x"), 16)
	if !ok {
		check(fmt.Errorf("%q is no number", text))
	}
	return uint256.MustFromBig(number)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// The rules up to Cancun, and none after.
func chain() *params.ChainConfig {
	zero := uint64(0)
	return &params.ChainConfig{
		ChainID:                 big.NewInt(1),
		HomesteadBlock:          new(big.Int),
		EIP150Block:             new(big.Int),
		EIP155Block:             new(big.Int),
		EIP158Block:             new(big.Int),
		ByzantiumBlock:          new(big.Int),
		ConstantinopleBlock:     new(big.Int),
		PetersburgBlock:         new(big.Int),
		IstanbulBlock:           new(big.Int),
		BerlinBlock:             new(big.Int),
		LondonBlock:             new(big.Int),
		TerminalTotalDifficulty: new(big.Int),
		ShanghaiTime:            &zero,
		CancunTime:              &zero,
	}
}

func open(path string) *program {
	file, err := os.Open(path)
	check(err)
	defer file.Close()
	db := state.NewDatabaseForTesting()
	before, err := state.New(types.EmptyRootHash, db)
	check(err)
	found := &program{
		name:  strings.TrimSuffix(filepath.Base(path), ".prog"),
		value: new(uint256.Int),
	}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		text, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		switch words[0] {
		case "to":
			found.to = common.BytesToAddress(bytesOf(words[1]))
		case "caller":
			found.caller = common.BytesToAddress(bytesOf(words[1]))
		case "gas":
			found.gas, err = strconv.ParseUint(words[1], 10, 64)
			check(err)
		case "value":
			found.value = numberOf(words[1])
		case "data":
			found.data = bytesOf(words[1])
		case "account":
			address := common.BytesToAddress(bytesOf(words[1]))
			before.CreateAccount(address)
			before.SetBalance(address, numberOf(words[2]), tracing.BalanceChangeUnspecified)
			before.SetCode(address, bytesOf(words[3]), tracing.CodeChangeUnspecified)
		case "slot":
			address := common.BytesToAddress(bytesOf(words[1]))
			key, value := numberOf(words[2]).Bytes32(), numberOf(words[3]).Bytes32()
			before.SetState(address, key, value)
		default:
			check(fmt.Errorf("%s: %q is no line of a program", path, words[0]))
		}
	}
	check(lines.Err())
	// Written down, so that what the program finds is original.
	rules := chain().Rules(big.NewInt(1), true, 1000)
	root, err := before.Commit(rules, 0)
	check(err)
	found.state, err = state.New(root, db)
	check(err)
	return found
}

// CPU time of the whole process, the collector's included: what others on the machine
// do costs none.
func cpu() time.Duration {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

type answer struct {
	gas    uint64
	output []byte
}

func main() {
	ms := flag.Int("ms", 200, "length of a round")
	rounds := flag.Int("rounds", 5, "rounds")
	trace := flag.Bool("trace", false, "write a trace, no times")
	flag.Parse()
	for _, path := range flag.Args() {
		program := open(path)
		config := &runtime.Config{
			ChainConfig: chain(),
			Origin:      program.caller,
			BlockNumber: big.NewInt(1),
			Time:        1000,
			Difficulty:  new(big.Int),
			GasLimit:    math.MaxUint64,
			GasPrice:    new(big.Int),
			Value:       new(big.Int),
			BaseFee:     new(big.Int),
			BlobBaseFee: big.NewInt(1),
			Random:      new(common.Hash),
			State:       program.state,
			GetHashFn: func(n uint64) common.Hash {
				return crypto.Keccak256Hash([]byte(strconv.FormatUint(n, 10)))
			},
		}
		if *trace {
			config.EVMConfig.Tracer = logger.NewJSONLogger(nil, os.Stdout)
		}
		evm := runtime.NewEnv(config)
		rules := config.ChainConfig.Rules(config.BlockNumber, true, config.Time)
		precompiles := vm.ActivePrecompiles(rules)
		if tracer := config.EVMConfig.Tracer; tracer != nil && tracer.OnTxStart != nil {
			tracer.OnTxStart(evm.GetVMContext(), types.NewTx(&types.LegacyTx{}), program.caller)
		}
		run := func() answer {
			program.state.Prepare(rules, program.caller, config.Coinbase, &program.to, precompiles, nil)
			snapshot := program.state.Snapshot()
			output, left, err := evm.Call(program.caller, program.to, program.data,
				vm.NewGasBudget(program.gas, 0), program.value)
			check(err)
			program.state.RevertToSnapshot(snapshot)
			return answer{program.gas - left.ExecutionGas, output}
		}
		first := run()
		if *trace {
			continue
		}
		runs, took := 1, time.Duration(0)
		for took < time.Duration(*ms)*time.Millisecond/4 {
			runs *= 2
			start := cpu()
			for range runs {
				run()
			}
			took = cpu() - start
		}
		runs = max(1, int(time.Duration(*ms)*time.Millisecond*time.Duration(runs)/max(1, took)))
		times := []float64{}
		for range *rounds {
			start := cpu()
			for range runs {
				run()
			}
			times = append(times, float64((cpu()-start).Nanoseconds())/float64(runs))
		}
		line, err := json.Marshal(map[string]any{
			"name":          program.name,
			"frame_gas":     first.gas,
			"output_keccak": crypto.Keccak256Hash(first.output).Hex(),
			"rounds_ns":     times,
		})
		check(err)
		fmt.Println(string(line))
	}
}
