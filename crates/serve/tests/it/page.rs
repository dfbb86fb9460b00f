//! The page for browsers: its files, and the headers that protect it.

use crate::harness::{Served, small};

#[test]
fn the_page_is_served_with_its_policy() {
    let served = Served::new(&small());
    for (path, kind, part) in [
        ("/", "text/html; charset=utf-8", "src=\"/page.js\""),
        ("/page.js", "text/javascript; charset=utf-8", "fetch("),
        ("/page.css", "text/css; charset=utf-8", "@media"),
        ("/icon.svg", "image/svg+xml", "<svg"),
    ] {
        let response = served.get(path);
        assert_eq!(response.status, 200, "{path}");
        assert!(response.body.contains(part), "{path}");
        let header = |name: &str| response.headers[name].as_str();
        assert_eq!(header("content-type"), kind);
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("referrer-policy"), "no-referrer");
        let policy = header("content-security-policy");
        let parts = [
            "default-src 'none'",
            "script-src 'self'",
            "connect-src 'self'",
            "frame-ancestors 'none'",
        ];
        assert!(parts.iter().all(|part| policy.contains(part)), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        let again = served.send("GET", path, &[("if-none-match", header("etag"))], "");
        assert_eq!((again.status, again.body.as_str()), (304, ""));
        let head = served.send("HEAD", path, &[], "");
        assert_eq!((head.status, head.body.as_str()), (200, ""));
    }
    let socket = served.send("GET", "/", &[("upgrade", "WebSocket")], "");
    assert_eq!(
        (socket.status, &socket.body[..26]),
        (400, "WebSocket is not supported")
    );
    // Other answers keep the policy that allows nothing.
    let health = served.get("/health");
    assert_eq!(
        health.headers["content-security-policy"],
        "default-src 'none'"
    );
    let metrics = served.get("/metrics").body;
    let counted = "txgraph_requests_total{interface=\"page\",status=\"200\"} 8";
    assert!(metrics.contains(counted), "{metrics}");
}

#[test]
fn the_page_needs_no_token_and_gives_no_data() {
    let served = Served::guarded(&small());
    assert_eq!(served.get("/").status, 200);
    assert_eq!(served.get("/page.js").status, 200);
    assert_eq!(served.post("{}").status, 401);
    assert_eq!(served.get("/page.js/other").status, 401);
    // Its name of the host is checked as everywhere.
    let elsewhere = served.send("GET", "/", &[("host", "evil.example")], "");
    assert_eq!(elsewhere.status, 403);
}
