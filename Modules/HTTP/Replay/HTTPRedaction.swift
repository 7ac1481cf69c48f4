import Foundation

/// Which parts of requests and replies may be written down, and which are replaced by `hidden-1`, `hidden-2` and so on.
///
/// Of the parameters in an address or a form, and of a reply's header fields, only those on a list of allowed names
/// keep their values. Header fields of requests are not written down at all, nor are names and passwords in an address,
/// nor the text after its `#`. Fields of JSON bodies keep their values unless their names speak of a secret. A
/// request's body that is neither JSON nor a form is replaced as a whole.
///
/// Paths, and replies' bodies that are neither JSON nor a form, are written down as they are: record a service that has
/// secrets there with an account for tests. Equal values have equal replacements within a recording, so that a token
/// which a reply gave is recognised where a later request has it.
///
/// Names are compared without regard to case and to characters that are neither letters nor digits: `perPage` allows
/// `per_page`.
public struct HTTPRedaction: Sendable, Hashable {
  /// Names of the parameters, in addresses and forms, that keep their values.
  public var allowedParameters: Set<String> = [
    "after", "before", "count", "cursor", "direction", "embed", "end_cursor", "expand", "fields", "first", "format",
    "from", "grant_type", "id", "ids", "include", "lang", "language", "last", "limit", "locale", "offset", "order",
    "order_by", "page", "page_cursor", "page_info", "page_number", "page_size", "page_token", "pages", "per_page",
    "since", "size", "skip", "sort", "sort_by", "start", "start_cursor", "status", "take", "to", "top", "type", "until",
    "version",
  ]
  /// Names of the reply's header fields that keep their values. Of addresses in them, the parameters are replaced.
  public var allowedHeaderFields: Set<String> = [
    "Accept-Ranges", "Age", "Allow", "Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language",
    "Content-Length", "Content-Location", "Content-Range", "Content-Type", "Date", "Deprecation", "ETag", "Expires",
    "Last-Modified", "Link", "Location", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "Retry-After",
    "Sunset", "Transfer-Encoding", "Vary", "X-Next-Page", "X-Page", "X-Per-Page", "X-Prev-Page", "X-RateLimit-Limit",
    "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-Total", "X-Total-Count", "X-Total-Pages",
  ]
  /// Words that tell a secret: the value of a JSON field whose name contains one of them is replaced.
  public var secretWords: Set<String> = [
    "access_key", "api_key", "assertion", "authorization", "bearer", "cookie", "credential", "jwt", "pass_code",
    "pass_phrase", "passwd", "password", "private_key", "secret", "session_id", "signature", "token", "verifier",
  ]
  /// Whole names that tell a secret: the value of a JSON field of that name is replaced.
  public var secretNames: Set<String> = ["auth", "cvc", "cvv", "otp", "pass", "pin", "pwd", "session", "sid", "sig"]
  /// Names of JSON fields that keep their values although they contain a secret word.
  public var allowedFields: Set<String> = [
    "continuation_token", "next_continuation_token", "next_page_token", "next_sync_token", "next_token", "page_token",
    "prev_page_token", "sync_token", "token_type",
  ]
  /// Whether a request's body that is neither JSON nor a form is written down as it is.
  public var recordsOpaqueBodies = false

  public init() {}
}

// MARK: - Names

extension HTTPRedaction {
  func allows(parameter name: some StringProtocol) -> Bool { Self.contains(allowedParameters, name) }

  func allows(headerField name: String) -> Bool { Self.contains(allowedHeaderFields, name) }

  /// Whether the value of a JSON field is to be replaced.
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
