import Foundation

/// The rules for the values in a recording: which are recorded, and which are replaced by `hidden-1`, `hidden-2` and so on.
///
/// - Parameters of addresses and forms, and header fields of replies, keep their values only if their names are allowed.
/// - Header fields of requests, names and passwords in addresses, and fragments after `#` are omitted.
/// - Fields of JSON bodies keep their values unless their names are secret.
/// - Other bodies of requests are replaced completely. Other bodies of replies, and paths, are recorded without changes: if
///   a service has secrets there, record with a test account.
///
/// Equal values have equal replacements within a recording, so that a token of a reply matches the token of a later
/// request. Names are compared by letters and digits without regard to case: `perPage` allows `per_page`.
public struct HTTPRedaction: Sendable, Hashable {
  /// The names of recorded parameters in addresses and forms.
  public var allowedParameters: Set<String> = [
    "after", "before", "count", "cursor", "direction", "embed", "end_cursor", "expand", "fields", "first", "format",
    "from", "grant_type", "id", "ids", "include", "lang", "language", "last", "limit", "locale", "offset", "order",
    "order_by", "page", "page_cursor", "page_info", "page_number", "page_size", "page_token", "pages", "per_page",
    "since", "size", "skip", "sort", "sort_by", "start", "start_cursor", "status", "take", "to", "top", "type", "until",
    "version",
  ]
  /// The names of recorded header fields of replies. Parameters of addresses in these fields are still replaced.
  public var allowedHeaderFields: Set<String> = [
    "Accept-Ranges", "Age", "Allow", "Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language",
    "Content-Length", "Content-Location", "Content-Range", "Content-Type", "Date", "Deprecation", "ETag", "Expires",
    "Last-Modified", "Link", "Location", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After",
    "Sunset", "Transfer-Encoding", "Vary", "X-Next-Page", "X-Page", "X-Per-Page", "X-Prev-Page", "X-RateLimit-Limit",
    "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-Total", "X-Total-Count", "X-Total-Pages",
  ]
  /// The words that make the name of a JSON field secret. The value of a field whose name contains one of them is replaced.
  public var secretWords: Set<String> = [
    "access_key", "api_key", "assertion", "authorization", "bearer", "cookie", "credential", "jwt", "pass_code",
    "pass_phrase", "passwd", "password", "private_key", "secret", "session_id", "signature", "token", "verifier",
  ]
  /// The complete names of secret JSON fields, whose values are replaced.
  public var secretNames: Set<String> = ["auth", "cvc", "cvv", "otp", "pass", "pin", "pwd", "session", "sid", "sig"]
  /// The names of recorded JSON fields that contain a secret word.
  public var allowedFields: Set<String> = [
    "continuation_token", "next_continuation_token", "next_page_token", "next_sync_token", "next_token", "page_token",
    "prev_page_token", "sync_token", "token_type",
  ]
  /// Whether bodies of requests other than JSON and forms are recorded without changes.
  public var recordsOpaqueBodies = false

  /// Makes the default rules.
  public init() {}
}

// MARK: - Names

extension HTTPRedaction {
  func allows(parameter name: some StringProtocol) -> Bool { Self.contains(allowedParameters, name) }

  func allows(headerField name: String) -> Bool { Self.contains(allowedHeaderFields, name) }

  /// Whether the value of a JSON field is replaced.
  func isSecret(field name: String) -> Bool {
    if Self.contains(allowedFields, name) { return false }
    let plain = Self.plain(name)
    return Self.contains(secretNames, name) || secretWords.contains { plain.contains(Self.plain($0)) }
  }

  private static func contains(_ names: Set<String>, _ name: some StringProtocol) -> Bool {
    let plain = Self.plain(name)
    return names.contains { Self.plain($0) == plain }
  }

  private static func plain(_ name: some StringProtocol) -> String {
    name.lowercased().filter { $0.isLetter || $0.isNumber }
  }
}
