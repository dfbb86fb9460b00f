use super::*;

const A: &str = "0x00000000000000000000000000000000000000aa";
const B: &str = "0x00000000000000000000000000000000000000bb";
const C: &str = "0x00000000000000000000000000000000000000cc";

fn address(text: &str) -> Result<Address, String> {
    text.parse()
        .map_err(|_| format!("`{text}` is not an address"))
}

fn read_as(file: &str, text: &str) -> Result<Decoded, DecodeError> {
    let reader = Reader {
        file,
        chain_id: 1,
        address: &address,
    };
    decode(text, &reader)
}

/// The rows as `last byte|name|category|source`.
fn rows(file: &str, text: &str) -> Vec<String> {
    let decoded = read_as(file, text).unwrap();
    let row = |row: &Row| {
        let Label {
            name,
            category,
            source,
        } = &row.label;
        format!("{:x}|{name}|{category}|{source}", row.address[19])
    };
    decoded.rows.iter().map(row).collect()
}

#[test]
fn tables_have_headers_or_three_columns() {
    let header = format!("Category,Name Tag,Address,url\nexchange,\"Big, inc\",{A},https://x\n");
    assert_eq!(
        rows("own.csv", &header),
        ["aa|Big, inc|exchange|own.csv: https://x"]
    );
    let plain = format!("# mine\n\n{A}, mine ,Mixing Service\r\n{B}\n");
    assert_eq!(
        rows("own.csv", &plain),
        ["aa|mine|mixing_service|own.csv", "bb|||own.csv"]
    );
    // In the files of eth-labels, `label` is a category.
    let labels = format!("address;chainId;label;nameTag\n{A};1;bridge;Hop\n{B};10;bridge;Hop\n");
    let decoded = read_as("accounts.csv", &labels).unwrap();
    assert_eq!((decoded.rows.len(), decoded.other_chains), (1, 1));
    assert_eq!(decoded.rows[0].label.name, "Hop");
    assert_eq!(decoded.rows[0].label.category, "bridge");
    assert!(decoded.warnings[0].contains("1 name of other chains than 1"));
}

#[test]
fn lists_of_sanctions_have_their_category_from_the_file() {
    let text = format!("{A}\n{B}\n");
    let expected = |file: &str| {
        [
            format!("aa||sanctioned|{file}"),
            format!("bb||sanctioned|{file}"),
        ]
    };
    let file = "sanctioned_addresses_ETH.txt";
    assert_eq!(rows(file, &text), expected(file));
    let file = "ofac.json";
    assert_eq!(rows(file, &format!("[\"{A}\",\"{B}\"]")), expected(file));
}

#[test]
fn the_list_of_ofac_names_people() {
    let json = format!(
        r#"{{"sdnList":{{"sdnEntry":[
          {{"uid":7,"firstName":"A.","lastName":"PERSON","idList":{{"id":[
            {{"idType":"Passport","idNumber":"1"}},
            {{"idType":"Digital Currency Address - ETH","idNumber":"{A}"}},
            {{"idType":"Digital Currency Address - USDT","idNumber":"Txyz"}},
            {{"idType":"Digital Currency Address - XBT","idNumber":"bc1q"}}]}}}},
          {{"uid":"8","lastName":"GROUP","idList":{{"id":
            {{"idType":"Digital Currency Address - USDC","idNumber":"{B}"}}}}}},
          {{"uid":9,"lastName":"NO ADDRESS"}}]}}}}"#
    );
    assert_eq!(
        rows("sdn.json", &json),
        [
            "aa|A. PERSON|sanctioned|sdn.json: OFAC",
            "bb|GROUP|sanctioned|sdn.json: OFAC"
        ]
    );
    assert_eq!(read_as("sdn.json", &json).unwrap().other_chains, 2);
}

/// An account of Ethereum has the same key on other chains.
#[test]
fn the_list_of_ofac_holds_on_every_chain() {
    let json = format!(
        r#"{{"sdnList":{{"sdnEntry":[{{"uid":7,"lastName":"PERSON","idList":{{"id":[
            {{"idType":"Digital Currency Address - ETH","idNumber":"{A}"}},
            {{"idType":"Digital Currency Address - ARB","idNumber":"{B}"}},
            {{"idType":"Digital Currency Address - XBT","idNumber":"bc1q"}}]}}}}]}}}}"#
    );
    let reader = Reader {
        file: "sdn.json",
        chain_id: 8453,
        address: &address,
    };
    let decoded = decode(&json, &reader).unwrap();
    assert_eq!((decoded.other_chains, decoded.bad_rows), (1, 0));
    let sources: Vec<_> = (decoded.rows.iter())
        .map(|row| (row.address[19], row.label.source.as_str()))
        .collect();
    let expected = [
        (0xaa, "sdn.json: OFAC, on ETH"),
        (0xbb, "sdn.json: OFAC, on ARB"),
    ];
    assert_eq!(sources, expected);
    // A wrong address of this chain is a bad row, not one of another chain.
    let wrong = json.replace("bc1q", B).replace(A, "0xaa");
    assert_eq!(read_as("sdn.json", &wrong).unwrap().bad_rows, 1);
}

#[test]
fn a_header_has_no_address() {
    let text = format!("{A},wallet,exchange\n{B},mine\n");
    assert_eq!(
        rows("own.csv", &text),
        ["aa|wallet|exchange|own.csv", "bb|mine||own.csv"]
    );
}

#[test]
fn several_categories_are_a_label_each() {
    let lists = [
        format!("address,name,category\n{A},x,\"binance, exchange;mixer\"\n"),
        format!(r#"{{"{A}": {{"name": "x", "labels": ["binance", "exchange", "mixer"]}}}}"#),
    ];
    for text in lists {
        let expected = ["aa|x|mixer|l.txt", "aa|x|exchange|l.txt"];
        assert_eq!(rows("l.txt", &text), expected, "{text}");
    }
    let text = format!("address,name,category\n{A},x,\"gambling;cold\"\n");
    assert_eq!(
        rows("l.txt", &text),
        ["aa|x|gambling|l.txt", "aa|x|cold|l.txt"]
    );
}

/// A sanction is kept next to every other category.
#[test]
fn a_tag_with_two_kinds_has_two_labels() {
    for (category, abuse, expected) in [
        ("perpetrator", "sanction", "sanction perpetrator"),
        ("exchange", "sanction", "sanction exchange"),
        ("sanctioned", "scam", "sanctioned scam"),
        ("perpetrator", "phishing", "perpetrator"),
        ("organization", "phishing", "phishing"),
        ("exchange", "odd", "exchange"),
    ] {
        let yaml = format!(
            "tags:\n- address: \"{A}\"\n  label: x\n  category: {category}\n  abuse: {abuse}\n"
        );
        let decoded = read_as("p.yaml", &yaml).unwrap();
        let words: Vec<_> = (decoded.rows.iter())
            .map(|row| row.label.category.as_str())
            .collect();
        assert_eq!(words.join(" "), expected, "{category} {abuse}");
    }
}

#[test]
fn json_by_address_and_as_a_list() {
    for (file, json, expected) in [
        (
            "a.json",
            format!(r#"{{"{A}":"x","{B}":null}}"#),
            "aa|x||a.json bb|||a.json",
        ),
        (
            "a.json",
            format!(r#"{{"{A}":{{"name":"Y","labels":["y-name","dex"]}}}}"#),
            "aa|Y|dex|a.json",
        ),
        (
            "exchange.json",
            format!(r#"{{"{A}":"One","{B}":"Two"}}"#),
            "aa|One|exchange|exchange.json bb|Two|exchange|exchange.json",
        ),
        (
            "all.json",
            format!(r#"{{"bridge":{{"{A}":"One"}},"phish-hack":{{"{B}":"Two"}}}}"#),
            "aa|One|bridge|all.json bb|Two|phish_hack|all.json",
        ),
        (
            "a.json",
            format!(
                r#"[{{"address":"{A}","label":"x"}},{{"address":"{B}","label":"x","name":"y"}}]"#
            ),
            "aa|x||a.json bb|y|x|a.json",
        ),
        (
            "a.json",
            format!(r#"{{"{A}":{{"name":"Coin","symbol":"C","decimals":6}}}}"#),
            "aa|Coin|token|a.json",
        ),
    ] {
        assert_eq!(rows(file, &json).join(" "), expected, "{json}");
    }
}

#[test]
fn token_lists_of_this_chain() {
    let json = format!(
        r#"{{"name":"Mine","tokens":[
          {{"chainId":1,"address":"{A}","symbol":"AAA","name":"Token A","decimals":6}},
          {{"chainId":10,"address":"{B}","symbol":"BBB","name":"Token B","decimals":6}}]}}"#
    );
    assert_eq!(
        rows("t.json", &json),
        ["aa|Token A (AAA)|token|t.json: Mine"]
    );
    assert_eq!(read_as("t.json", &json).unwrap().other_chains, 1);
}

#[test]
fn tagpacks_inherit_from_their_header() {
    let yaml = format!(
        "---\ntitle: My pack\ncreator: me\ncurrency: ETH\ncategory: exchange\nlabel: Big\n\
         tags:\n- address: {A}\n  concepts: [x, y]\n- address: \"{B}\"\n  label: \"Other: one\"\n  \
         category: organization\n  abuse: phishing\n  source: https://x\n- address: bc1q\n  \
         currency: BTC\n- label: none\n- address: {C}\n  currency: USDT\n  network: ETH\n"
    );
    let decoded = read_as("pack.yaml", &yaml).unwrap();
    assert_eq!(decoded.format, Format::TagPack);
    assert_eq!((decoded.bad_rows, decoded.other_chains), (1, 1));
    assert_eq!(
        decoded.bad[0].to_string(),
        "line 17: the tag has no `address`"
    );
    assert_eq!(
        rows("pack.yaml", &yaml),
        [
            "aa|Big|exchange|pack.yaml: My pack",
            "bb|Other: one|phishing|pack.yaml: https://x",
            "cc|Big|exchange|pack.yaml: My pack"
        ]
    );
    // Without quotes, YAML would read this address as a number.
    let one = "tags:\n- address: 0x0000000000000000000000000000000000000001\n  label: 0x1\n";
    assert_eq!(rows("p.yaml", one), ["1|0x1||p.yaml"]);
}

#[test]
fn bad_rows_are_counted_and_the_first_are_quoted() {
    let text = format!("address,name\n{A},a\nx,1\ny,2\nz,3\nw,4\n");
    let decoded = read_as("own.csv", &text).unwrap();
    assert_eq!((decoded.rows.len(), decoded.bad_rows), (1, 4));
    assert_eq!(
        decoded.warnings,
        [
            "own.csv: 4 rows were not read; line 3: `x` is not an address; \
          line 4: `y` is not an address; line 5: `z` is not an address; and 1 more"
        ]
    );
    let json = format!(r#"{{"{A}":7,"{B}":"b"}}"#);
    assert_eq!(read_as("a.json", &json).unwrap().bad_rows, 1);
    // The decoder of JSON keeps one of two equal keys.
    let json = format!(r#"{{"dex":{{"{A}":"first","{B}":"b","{A}":"last"}}}}"#);
    let [warning] = &read_as("a.json", &json).unwrap().warnings[..] else {
        panic!("not one warning")
    };
    let expected = "more than once, and only its last value was read";
    assert!(
        warning.contains(expected) && warning.contains(A),
        "{warning}"
    );
}

#[test]
fn files_without_addresses_are_errors() {
    for (text, reason) in [
        ("", "no address was found"),
        (
            "a,b\nc,d\n",
            "no address was found; line 1: `a` is not an address",
        ),
        ("{", "not valid JSON"),
        ("[7]", "no address was found; entry 1: it is neither"),
        (r#"{"tokens":[]}"#, "no address was found"),
        ("tags:\n- [", "not valid YAML"),
        ("tags: []\n", "no address was found"),
    ] {
        let error = read_as("x", text).unwrap_err().to_string();
        assert!(error.starts_with(reason), "{text}: {error}");
    }
    let open = format!("{A},\"open\n{B},b\n");
    let error = read_as("x", &open).unwrap_err().to_string();
    assert!(error.contains("is a quote not closed?"), "{error}");
}
