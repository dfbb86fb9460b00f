//! Symbols and decimals without set-up, several lists, and counterfeits.

use crate::harness::{CHAIN, HUB, ROOT, Row, Sample, USD6, ok, rows};
use serde_json::Value;
use std::{collections::BTreeMap, fs};

/// A token, with the symbol and the decimals that it claims.
type Claims = BTreeMap<String, (Option<String>, Option<u32>)>;

/// Symbols and decimals that tokens of the small chain claim, from `txgraph token`.
fn claims(sample: &Sample, tokens: &[String]) -> Claims {
    let answer = sample.run(&format!("token {} --json {CHAIN}", tokens.join(" ")));
    let claims = answer.json();
    let claim = |(token, names): (&String, &Value)| {
        let symbol = names["symbol"].as_str().map(str::to_owned);
        let decimals = names["decimals"].as_u64().and_then(|it| it.try_into().ok());
        (token.to_lowercase(), (symbol, decimals))
    };
    claims.as_object().unwrap().iter().map(claim).collect()
}

/// A whole number with a point, without zeros at the end.
fn scaled(value: &str, decimals: u32) -> String {
    let decimals = decimals as usize;
    let digits = format!("{value:0>width$}", width = decimals + 1);
    let (whole, rest) = digits.split_at(digits.len() - decimals);
    match rest.trim_end_matches('0') {
        "" => whole.to_owned(),
        rest => format!("{whole}.{rest}"),
    }
}

#[test]
fn columns_have_what_tokens_claim() {
    let sample = Sample::small();
    let plain = sample.ok("transfers -q").stdout;
    let all = rows(&plain);
    let mut tokens: Vec<String> = all
        .iter()
        .map(|row| row["token_address"].clone())
        .filter(|token| !token.is_empty())
        .collect();
    tokens.sort();
    tokens.dedup();
    let claims = claims(&sample, &tokens);
    let mut names = claims.values();
    assert!(names.any(|(symbol, decimals)| symbol.is_some() && decimals.is_some()));
    let columns = "--columns token_address,token_standard,value,amount,symbol,decimals";
    let answer = sample.ok(&format!("transfers {columns} {CHAIN}"));
    let named = answer.rows();
    assert_eq!(named.len(), all.len());
    let mut seen = 0;
    for row in &named {
        let (symbol, decimals) = match row["token_address"].as_str() {
            "" => (Some("ETH".to_owned()), Some(18)),
            token => claims[token].clone(),
        };
        assert_eq!(row["symbol"], symbol.unwrap_or_default(), "{row:?}");
        if ["erc20", "native"].contains(&row["token_standard"].as_str()) {
            let amount = decimals.map(|decimals| scaled(&row["value"], decimals));
            assert_eq!(row["amount"], amount.unwrap_or_default(), "{row:?}");
            seen += 1;
        }
    }
    assert!(seen > 10);
    let stated = "only what the token itself claims";
    answer.says(stated);
    // The default table is the same with a state and without.
    assert_eq!(sample.ok(&format!("transfers -q {CHAIN}")).stdout, plain);
    let graph = sample.ok(&format!("graph -q -r {ROOT} {columns} {CHAIN}"));
    for row in graph.rows() {
        assert!(named.contains(&row), "{row:?}");
    }
}

#[test]
fn amounts_and_pictures_need_no_list() {
    let sample = Sample::small();
    let (symbol, decimals) = claims(&sample, &[USD6.to_owned()])[USD6].clone();
    let (symbol, decimals) = (symbol.unwrap(), decimals.unwrap());
    let raw = 10u128.pow(decimals) * 5;
    let line = format!("transfers -q -t {USD6} --min-value {raw}");
    let expected = sample.ok(&line).stdout;
    let all = sample.ok(&format!("transfers -q -t {USD6}")).stdout;
    assert!(expected.lines().count() > 1 && expected.len() < all.len());
    for amount in [format!("{symbol}=5"), "5.0".to_owned(), format!("{USD6}=5")] {
        let line = format!("transfers -q -t {USD6} --min-value {amount} {CHAIN}");
        assert_eq!(sample.ok(&line).stdout, expected, "{amount}");
    }
    let line = format!("graph -q -r {ROOT} -t {USD6} -n 2 -o g.dot -o g.html {CHAIN}");
    sample.ok(&line);
    for name in ["g.dot", "g.html"] {
        let picture = sample.read(name);
        assert!(picture.contains(&symbol), "{name}");
        let claim = "its symbol is only what the token itself claims";
        assert!(picture.contains(claim), "{name}");
        assert!(!picture.contains("units of"), "{name}");
    }
    sample
        .ok(&format!("analyze summary -t {USD6} {CHAIN}"))
        .prints(&symbol);
}

/// A symbol is found among all tokens of a query, however many there are.
#[test]
fn symbols_are_found_among_a_thousand_tokens() {
    let sample = Sample::small();
    let others = (1..=1_000).map(|number| format!("0x{:040x}\n", 0x1000_0000_u64 + number));
    let list: String = others.chain([format!("{USD6}\n")]).collect();
    fs::write(sample.path("many.txt"), list).unwrap();
    let line = |tokens: &str, amount: &str| {
        let line = format!("transfers -q -t {tokens} --min-value {amount} {CHAIN}");
        sample.run(&line)
    };
    let expected = line(USD6, "USD6=5");
    let many = line("@many.txt", "USD6=5");
    assert_eq!((expected.status, many.status), (0, 0), "{many:?}");
    assert_eq!(many.stdout, expected.stdout);
    for (amount, reason) in [
        ("eth=1", "is not a token of the query"),
        ("USD6=5,usd6=6", "is named twice"),
    ] {
        line(USD6, amount).ended(2).says(reason);
    }
}

/// The rules of the chain are not known without its file, and tokens do not need them.
#[test]
fn names_need_no_rules_of_the_chain() {
    let sample = Sample::small();
    let line = "transfers -q --columns token_address,amount,symbol,decimals";
    let named = sample.ok(line).stdout;
    assert!(rows(&named).iter().any(|row| row["symbol"] == "USD6"));
    assert_eq!(named, sample.ok(&format!("{line} {CHAIN}")).stdout);
}

/// Widths by the value in one unit, and not by the share of each token.
#[test]
fn prices_make_tokens_comparable() {
    let sample = Sample::small();
    fs::write(
        sample.path("p.csv"),
        format!("token,price\n{USD6},1\neth,3000\n"),
    )
    .unwrap();
    sample.ok(&format!(
        "graph -q -r {HUB} -t {USD6},eth -d both --fold off --prices p.csv -o g.html -o g.csv \
         --columns from_address,to_address,token_address,value"
    ));
    // A naive sum of values by arrow.
    let mut values = BTreeMap::<(String, String, String), f64>::new();
    for row in rows(&sample.read("g.csv")) {
        let unit = if row["token_address"].is_empty() {
            3e3 / 1e18
        } else {
            1e-6
        };
        let key = ["from_address", "to_address", "token_address"].map(|name| row[name].clone());
        *values.entry(key.into()).or_default() += row["value"].parse::<f64>().unwrap() * unit;
    }
    let page = sample.read("g.html");
    let json = page.split("id=\"data\">").nth(1).unwrap();
    let json: Value = serde_json::from_str(json.split("</script>").next().unwrap()).unwrap();
    let arrows = json["arrows"].as_array().unwrap();
    assert_eq!(arrows.len(), values.len());
    let largest = values.values().copied().fold(0.0, f64::max);
    let mut widths: Vec<f64> = arrows
        .iter()
        .map(|it| it["width"].as_f64().unwrap())
        .collect();
    let expected = |value: &f64| {
        if *value > 0.0 {
            (50.0 - 4.0 * (largest.log2().floor() - value.log2().floor())).max(8.0)
        } else {
            8.0
        }
    };
    let mut wanted: Vec<f64> = values.values().map(expected).collect();
    widths.sort_unstable_by(f64::total_cmp);
    wanted.sort_unstable_by(f64::total_cmp);
    assert_eq!(widths, wanted);
    assert!(page.contains("the width of an arrow is its value by the given prices"));
}

#[test]
fn several_lists_are_one() {
    let sample = Sample::small();
    let other = "0x1212121212121212121212121212121212121212";
    for (name, token, symbol, decimals) in [
        ("a.csv", other, "OTHER", 2),
        ("b.csv", USD6, "MINE", 3),
        ("c.csv", USD6, "MINE", 4),
    ] {
        let list = format!("address,symbol,decimals\n{token},{symbol},{decimals}\n");
        fs::write(sample.path(name), list).unwrap();
    }
    let found = sample.rows(&format!(
        "transfers -q -t {USD6} --columns value,symbol,amount,decimals \
                 --token-list a.csv --token-list b.csv"
    ));
    assert!(!found.is_empty());
    for row in &found {
        let names = (row["symbol"].as_str(), row["decimals"].as_str());
        assert_eq!(names, ("MINE", "3"));
        assert_eq!(row["amount"], scaled(&row["value"], 3));
    }
    sample.ok(&format!(
        "query -q trace-token-out --set root={ROOT} --set token={USD6} -o q.dot \
         --token-list b.csv --token-list a.csv"
    ));
    assert!(sample.read("q.dot").contains(" MINE"));
    sample.fails(
        &format!("transfers -t {USD6} --token-list b.csv --token-list c.csv"),
        2,
        "two token lists disagree",
    );
}

/// Claims of tokens of mainnet, one of which is a counterfeit of USDC with a Cyrillic letter.
#[test]
fn counterfeits_are_written_with_a_query_mark() {
    let Some([folder, _]) = crate::mainnet::directories() else {
        return;
    };
    let ask = |line: &str| {
        let line = format!("{line} --datadir data -b 15000001:");
        ok(folder.path(), &line)
    };
    let usdc = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48";
    let all = ask("transfers -q --columns token_address,value,symbol").rows();
    // Without a list: the table of well-known tokens.
    let of_usdc = |row: &Row| row["token_address"] == usdc;
    assert!(all.iter().any(of_usdc));
    assert!(
        all.iter()
            .all(|row| (row["symbol"] == "USDC") == of_usdc(row))
    );
    let unknown = all.iter().find(|row| row["symbol"].is_empty()).unwrap();
    let fake = unknown["token_address"].clone();
    let claims = format!(
        "{{\"{fake}\":{{\"name\":\"USD Coin\",\"symbol\":\"USD\u{421}\",\"decimals\":6}},\
         \"{usdc}\":{{\"name\":\"no\",\"symbol\":\"LIE\",\"decimals\":1}}}}"
    );
    fs::write(folder.path().join("claims.json"), claims).unwrap();
    let table = "transfers --columns token_address,symbol --token-list claims.json";
    let answer = ask(table);
    for row in answer.rows() {
        let symbol = row["symbol"].as_str();
        assert_eq!(symbol == "USDC", row["token_address"] == usdc, "{row:?}");
        assert_eq!(symbol == "USDC?", row["token_address"] == fake, "{row:?}");
        assert_ne!(symbol, "LIE");
    }
    let warning =
        "claims the symbol `USD\u{421}`, but USDC is 0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";
    answer.says(warning);
    // A token that a list of the user names is not doubted.
    let list = format!("address,symbol,decimals\n{fake},USDC,6\n");
    fs::write(folder.path().join("mine.csv"), list).unwrap();
    let answer = ask(&format!("{table} --token-list mine.csv"));
    let mut named = answer.rows().into_iter();
    assert!(named.any(|row| row["token_address"] == fake && row["symbol"] == "USDC"));
    assert!(!answer.stderr.contains("claims the symbol"), "{answer:?}");
    // Amounts in the unit of a well-known token need no list.
    let line = format!("transfers -q --min-value USDC=1000 -t {usdc}");
    let found = ask(&line).rows();
    let is_large = |row: &&Row| row["value"].parse::<u128>().unwrap() >= 1_000_000_000;
    let expected = all.iter().filter(|row| of_usdc(row)).filter(is_large);
    assert_eq!(found.len(), expected.count());
    assert!(!found.is_empty() && found.iter().all(|row| is_large(&row)));
}
