import CLibPQ

/// The host of a connection, one of the hosts in the connection string.
struct PostgreSQLHost: Sendable {
  /// libpq's settings for a connection to this host alone. They replace all lists of hosts, addresses and ports in the
  /// connection string, because libpq demands lists of equal lengths.
  let settings: [(String, String)]

  init(_ raw: OpaquePointer) {
    func text(_ value: UnsafeMutablePointer<CChar>?) -> String { value.map { String(cString: $0) } ?? "" }
    settings = [
      ("host", text(PQhost(raw))), ("hostaddr", text(PQhostaddr(raw))), ("port", text(PQport(raw))),
      ("target_session_attrs", "any"),
    ]
  }
}
