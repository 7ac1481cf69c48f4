import Foundation
public import HTTPTypes
import Synchronization

/// The validators of merged content, by address.
///
/// A validator represents content in the stores. It is therefore stored only after a successful merge, and the
/// validators of one Connect do not apply to another. May be used from any thread.
public final class HTTPValidators: Sendable {
  private let validators: Mutex<[String: HTTPValidator]>

  /// Makes a collection of validators.
  ///
  /// - Parameter entries: The ``entries`` of an earlier run.
  public init(_ entries: [String: HTTPValidator] = [:]) { validators = Mutex(entries) }

  /// All validators by address, to store for the next run. The addresses may contain credentials.
  public var entries: [String: HTTPValidator] { validators.withLock { $0 } }

  /// The validator of a request's address; `nil` for methods other than GET.
  public subscript(request: HTTPRequest) -> HTTPValidator? {
    get { Self.address(of: request).flatMap { address in validators.withLock { $0[address] } } }
    set {
      guard let address = Self.address(of: request) else { return }
      validators.withLock { $0[address] = newValue }
    }
  }

  /// Sets the validator of merged content, unless another merge of the address has set another one since the request:
  /// either content may have been merged last, so that the validator is removed and the content is requested again.
  ///
  /// - Parameter former: The validator at the time of the request.
  func set(_ validator: HTTPValidator?, for request: HTTPRequest, after former: HTTPValidator?) {
    guard let address = Self.address(of: request) else { return }
    validators.withLock { validators in
      let present = validators[address]
      validators[address] = present == former || present == validator ? validator : nil
    }
  }

  /// Removes all validators, so that all content is requested again.
  public func removeAll() { validators.withLock { $0 = [:] } }

  private static func address(of request: HTTPRequest) -> String? {
    request.method == .get ? request.url?.absoluteString : nil
  }
}

extension HTTPClient {
  /// Requests content, and merges it if it has changed since the last merge.
  ///
  /// After concurrent merges of one address with different content, the content is requested again the next time.
  ///
  /// - Parameters:
  ///   - request: The request of the content.
  ///   - validators: The validators of merged content, updated after a successful merge.
  ///   - merge: Called with a successful reply. After an error the content is requested again the next time.
  /// - Returns: The result of `merge`; `nil` for unchanged content (304).
  /// - Throws: The errors of ``send(_:body:)`` and of `merge`; ``ErrorCode/httpStatus`` for a status other than 2xx and
  ///   304.
  public func ifChanged<Result>(
    _ request: HTTPRequest, since validators: HTTPValidators, merge: (HTTPReply) async throws -> Result
  ) async throws -> Result? {
    let former = validators[request]
    let reply = try await send(former?.applied(to: request) ?? request)
    if reply.isUnchanged { return nil }
    let result = try await merge(try reply.successful())
    validators.set(HTTPValidator(of: reply), for: request, after: former)
    return result
  }
}
