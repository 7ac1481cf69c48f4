import Foundation
public import HTTPTypes
import Synchronization

/// The validators of merged content, by address.
///
/// A validator represents content in the stores. It is therefore stored only after a successful merge, and the
/// validators of one Connect do not apply to another. The number of validators is limited. May be used from any thread.
public final class HTTPValidators: Sendable {
  private let limit: Int
  private let state: Mutex<State>

  private struct Entry {
    var validator: HTTPValidator
    /// The number of the last request or change.
    var lastUse: UInt64 = 0
  }

  private struct State {
    var entries: [String: Entry]
    /// The requests whose content may still be merged, by address and number. The value is whether another merge has
    /// changed the content of the address since the request.
    var requests: [String: [UInt64: Bool]] = [:]
    var lastNumber: UInt64 = 0

    init(_ validators: [String: HTTPValidator]) { entries = validators.mapValues { Entry(validator: $0) } }

    mutating func nextNumber() -> UInt64 {
      lastNumber += 1
      return lastNumber
    }

    /// Sets or removes a validator after a change of the address's content.
    mutating func set(_ validator: HTTPValidator?, for address: String, limit: Int) {
      requests[address] = requests[address]?.mapValues { _ in true }
      let number = nextNumber()
      entries[address] = validator.map { Entry(validator: $0, lastUse: number) }
      evict(to: limit)
    }

    /// Evicts validators above the limit, the least recently used first, and a quarter of the limit with them, so that
    /// the order is not computed again for each further validator.
    mutating func evict(to limit: Int) {
      guard entries.count > limit else { return }
      let kept = entries.sorted { $0.value.lastUse > $1.value.lastUse }.prefix(limit - limit / 4)
      entries = Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
    }
  }

  /// Makes a collection of validators.
  ///
  /// - Parameters:
  ///   - entries: The ``entries`` of an earlier run.
  ///   - limit: The maximum number of validators; at least one. Above it, the least recently used validators are
  ///     removed, and their content is requested again.
  public init(_ entries: [String: HTTPValidator] = [:], limit: Int = 10_000) {
    let limit = max(1, limit)
    var initial = State(entries)
    initial.evict(to: limit)
    self.limit = limit
    state = Mutex(initial)
  }

  /// All validators by address, to store for the next run. The addresses may contain credentials.
  public var entries: [String: HTTPValidator] { state.withLock { $0.entries.mapValues(\.validator) } }

  /// The validator of a request's address; `nil` for methods other than GET.
  public subscript(request: HTTPRequest) -> HTTPValidator? {
    get { Self.address(of: request).flatMap { address in state.withLock { $0.entries[address]?.validator } } }
    set {
      guard let address = Self.address(of: request) else { return }
      state.withLock { $0.set(newValue, for: address, limit: limit) }
    }
  }

  /// Removes all validators, so that all content is requested again, also the content of running requests.
  public func removeAll() {
    state.withLock { state in
      state.entries = [:]
      state.requests = state.requests.mapValues { $0.mapValues { _ in true } }
    }
  }

  private static func address(of request: HTTPRequest) -> String? {
    request.method == .get ? request.url?.absoluteString : nil
  }
}

// MARK: - Conditional requests

extension HTTPValidators {
  /// A conditional request whose content may still be merged.
  struct RunningRequest {
    /// `nil` for methods other than GET.
    fileprivate let address: String?
    fileprivate let number: UInt64
    /// The validator at the time of the request.
    let validator: HTTPValidator?
  }

  /// The effect of a request on the content in the stores.
  enum Effect {
    case none
    /// A merge has failed, and may have merged a part of the content.
    case unknown
    /// The content of a reply was merged, whose validator this is; `nil` for a reply without one.
    case merged(HTTPValidator?)
  }

  /// Begins a conditional request. Each call is paired with a call of `end`.
  func begin(_ request: HTTPRequest) -> RunningRequest {
    guard let address = Self.address(of: request) else {
      return RunningRequest(address: nil, number: 0, validator: nil)
    }
    return state.withLock { state in
      let number = state.nextNumber()
      state.requests[address, default: [:]][number] = false
      state.entries[address]?.lastUse = number
      return RunningRequest(address: address, number: number, validator: state.entries[address]?.validator)
    }
  }

  /// Ends a conditional request, and sets the validator of merged content.
  ///
  /// If other content of the address was merged since the request, either content may be the stored one. The validator
  /// is then removed, and the content is requested again.
  func end(_ request: RunningRequest, _ effect: Effect) {
    guard let address = request.address else { return }
    state.withLock { state in
      let isOvertaken = state.requests[address]?.removeValue(forKey: request.number) ?? true
      if state.requests[address]?.isEmpty == true { state.requests[address] = nil }
      switch effect {
      case .none: break
      case .unknown: state.set(nil, for: address, limit: limit)
      case .merged(let validator):
        let isSure = !isOvertaken || state.entries[address]?.validator == validator
        state.set(isSure ? validator : nil, for: address, limit: limit)
      }
    }
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
  ///   304, and for a 304 to a request without conditions: without merged content, no content can be unchanged.
  public func ifChanged<Result>(
    _ request: HTTPRequest, since validators: HTTPValidators, merge: (HTTPReply) async throws -> Result
  ) async throws -> Result? {
    let running = validators.begin(request)
    var effect = HTTPValidators.Effect.none
    defer { validators.end(running, effect) }
    let sent = running.validator?.applied(to: request) ?? request
    let reply = try await send(sent)
    if reply.isUnchanged, sent != sent.unconditional { return nil }
    try reply.successful()
    effect = .unknown
    let result = try await merge(reply)
    effect = .merged(HTTPValidator(of: reply))
    return result
  }
}
