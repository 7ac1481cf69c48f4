package import Foundation

/// The origin of an address: scheme, host and port (RFC 6454). Credentials stay within one origin.
package struct HTTPOrigin: Hashable {
  let scheme: String
  let host: String
  let port: Int

  /// `nil` for an address without a host, with a port out of range, or of another scheme than `http` and `https`.
  package init?(_ url: URL) {
    guard let scheme = url.scheme?.lowercased(), let standardPort = Self.standardPorts[scheme],
      let host = url.host?.lowercased(), !host.isEmpty
    else { return nil }
    let port = url.port ?? standardPort
    guard UInt16(exactly: port) != nil else { return nil }
    self.scheme = scheme
    self.host = host
    self.port = port
  }

  private static let standardPorts = ["http": 80, "https": 443]
}
