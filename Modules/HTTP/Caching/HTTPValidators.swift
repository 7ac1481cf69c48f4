import Foundation
public import HTTPTypes
import Synchronization

/// The validators of what was merged, by address.
///
/// A validator stands for content that is in the stores. So it is kept only once a merge succeeded, and one Connect's
/// validators are of no use to another's. May be used from anywhere.
public final class HTTPValidators: Sendable {
  private let known: Mutex<[String: HTTPValidator]>

  /// - Parameter entries: What ``entries`` answered in an earlier run.
  public init(_ entries: [String: HTTPValidator] = [:]) { known = Mutex(entries) }

  /// All validators by address, to be kept for the next run. Addresses may carry credentials: treat them as such.
  public var entries: [String: HTTPValidator] { known.withLock { $0 } }

  /// The validator of a request's address.
  public subscript(request: HTTPRequest) -> HTTPValidator? {
    get { Self.address(of: request).flatMap { address in known.withLock { $0[address] } } }
    set {
      guard let address = Self.address(of: request) else { return }
      known.withLock { $0[address] = newValue }
    }
  }

  /// Forgets everything, so that all content is asked for again.
  public func removeAll() { known.withLock { $0 = [:] } }

  private static func address(of request: HTTPRequest) -> String? {
    request.method == .get ? request.url?.absoluteString : nil
  }
}

extension HTTPClient {
  /// Asks for content that changed since it was last merged, and merges it.
  ///
  /// - Parameter merge: Called with a reply of success. When it throws, the content counts as not merged and is asked
  ///   for again the next time.
  /// - Returns: What the merge answered; `nil` when nothing changed (304) and there was nothing to merge.
  /// - Throws: As ``send(_:body:)``; ``ErrorCode/httpStatus`` for a status that is none of success; what `merge` throws.
  public func ifChanged<Result>(
    _ request: HTTPRequest, since validators: HTTPValidators, merge: (HTTPReply) async throws -> Result
  ) async throws -> Result? {
    let reply = try await send(validators[request]?.applied(to: request) ?? request)
    if reply.isUnchanged { return nil }
    let result = try await merge(try reply.successful())
    validators[request] = HTTPValidator(of: reply)
    return result
  }
}
