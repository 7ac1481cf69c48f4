public import CoherenceCore
import Foundation
public import HTTPTypes

/// The facts about a failed request: the underlying error of a ``CoherenceError`` with an `http` code.
///
/// A failure contains no path, query or header fields, because these may contain values and credentials. The exception
/// is `Retry-After`, with the `Date` from which a date in it counts.
public struct HTTPFailure: Error, Sendable, Hashable {
  /// The method of the request.
  public var method: HTTPRequest.Method
  /// The host and, if given, the port.
  public var host: String
  /// The status code of the reply; `nil` without a reply.
  public var status: Int?
  /// The text of the reply's `Retry-After`.
  public var retryAfter: String?
  /// The text of the reply's `Date`, from which a date in ``retryAfter`` counts; `nil` if the latter has no date.
  var replyDate: String?
  /// Whether the client has refused the request or a reply. Such a failure says nothing about the availability of the
  /// service, although no status may be known.
  var isRefusal = false

  /// Makes the failure of a request.
  public init(to request: HTTPRequest, status: Int? = nil) {
    method = request.method
    // The part before the last @ may have a name and a password.
    host = request.authority.map { String($0.split(separator: "@").last ?? "") } ?? "an unknown host"
    self.status = status
  }
}

extension HTTPFailure: CustomStringConvertible, LoggableError {
  public var description: String {
    "\(method.rawValue) to \(host)" + (status.map { ", status \($0)" } ?? "")
  }

  public var logDescription: String { description }
}

// MARK: - As errors

extension HTTPFailure {
  /// The statuses after which the same request may succeed.
  static let retryableStatuses: Set<Int> = [408, 425, 429, 500, 502, 503, 504]

  /// The error of a status.
  var error: CoherenceError {
    let code = status ?? 0
    let advice =
      switch code {
      case 304: "the reply has no content; send the request without conditions, or report it to the service"
      case 401, 403: "check the credentials"
      case 404, 410: "check the address"
      case _ where Self.retryableStatuses.contains(code): "try again later"
      case 400..<500: "check the request"
      default: "the server's own log may say why"
      }
    return CoherenceError(
      .httpStatus, "\(host) replied to a \(method.rawValue) with status \(code); \(advice).", underlying: self,
      isRetryable: Self.retryableStatuses.contains(code))
  }

  /// The error of a transfer that the system ended. Contains only the code of the system's error, whose text may quote the
  /// whole address.
  func broken(by error: any Error) -> CoherenceError {
    let code = (error as? URLError)?.code
    if code == .timedOut { return timedOut(after: nil) }
    // No attempt reaches an address that no transfer protocol reads.
    let isRetryable = code != .unsupportedURL && code != .badURL
    return broken(code.map { "URL error \($0.rawValue)" } ?? "the transfer failed", isRetryable: isRetryable)
  }

  /// The error of an incomplete transfer.
  package func broken(_ reason: String, isRetryable: Bool = true) -> CoherenceError {
    CoherenceError(
      .httpTransferFailed,
      "No complete reply to a \(method.rawValue) came from \(host): \(reason). Check that the server runs and can be "
        + "reached.", underlying: isRetryable ? self : refusal, isRetryable: isRetryable)
  }

  /// The failure as a refusal of the client.
  private var refusal: HTTPFailure {
    var failure = self
    failure.isRefusal = true
    return failure
  }

  package func timedOut(after limit: Duration?) -> CoherenceError {
    let time = limit.map { " within \(seconds($0)) s" } ?? " in time"
    return CoherenceError(
      .httpTimedOut,
      "No complete reply to a \(method.rawValue) came from \(host)\(time). Try again, or allow it more time.",
      underlying: self, isRetryable: true)
  }

  func redirectRefused(_ reason: String) -> CoherenceError {
    CoherenceError(
      .httpRedirectRefused,
      "\(host) redirected a \(method.rawValue) to an address that the client does not follow: \(reason). Request the "
        + "address itself, if that is safe, or report it to the service.", underlying: refusal)
  }

  package func bodyTooLarge(_ limit: Int) -> CoherenceError {
    CoherenceError(
      .httpBodyTooLarge,
      "\(host) replied to a \(method.rawValue) with a body of more than \(limit) bytes; request less at once, in "
        + "pages, or allow more.", underlying: refusal)
  }

  func tooManyRedirects(_ limit: Int) -> CoherenceError {
    CoherenceError(
      .httpTooManyRedirects,
      "A \(method.rawValue) to \(host) was redirected more than \(limit) times; check the address, or allow more hops.",
      underlying: refusal)
  }

  func unreadable(_ error: DecodingError, as type: Any.Type) -> CoherenceError {
    CoherenceError(
      .httpUnreadable,
      "\(host) replied to a \(method.rawValue) with a body that is not a '\(type)': \(Self.position(of: error)). "
        + "Compare the type with what the service documents.", underlying: self)
  }

  func unreadable(_ sentence: String, isRetryable: Bool = true) -> CoherenceError {
    CoherenceError(.httpUnreadable, "\(host): \(sentence)", underlying: refusal, isRetryable: isRetryable)
  }

  /// The position of a decoding error, without values.
  private static func position(of error: DecodingError) -> String {
    func path(_ context: DecodingError.Context, _ last: (any CodingKey)? = nil) -> String {
      let keys = context.codingPath + (last.map { [$0] } ?? [])
      return keys.map { name(of: $0) }.joined(separator: ".")
    }
    // The path of the outermost value is empty.
    func value(_ context: DecodingError.Context) -> String {
      context.codingPath.isEmpty ? "its outermost value" : "'\(path(context))'"
    }
    switch error {
    case .keyNotFound(let key, let context): return "'\(path(context, key))' is missing"
    case .valueNotFound(_, let context): return "\(value(context)) is null"
    case .typeMismatch(_, let context): return "\(value(context)) is of another type"
    case .dataCorrupted(let context):
      return context.codingPath.isEmpty ? "it is not JSON" : "'\(path(context))' has no valid value"
    @unknown default: return "it cannot be decoded"
    }
  }

  /// The name of a key for an error: an index, or a name that a type declares. Keys of dictionaries are values, and become
  /// `*`.
  private static func name(of key: any CodingKey) -> String {
    if let index = key.intValue { return "[\(index)]" }
    // A type declares its keys as an enumeration. Key types of the decoder and of the standard library begin with "_".
    let isDeclared = Mirror(reflecting: key).displayStyle == .enum && !"\(type(of: key))".hasPrefix("_")
    return isDeclared ? key.stringValue : "*"
  }
}
