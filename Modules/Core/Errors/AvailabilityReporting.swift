import Foundation

/// An error that knows whether a service was unavailable: it could not be reached, or took no requests at the time.
/// Such an error says nothing about the request.
public protocol AvailabilityReporting: Error {
  /// Whether the service was unavailable.
  var isServiceUnavailable: Bool { get }
}

extension RetryPolicy {
  /// Whether an error, or the error that caused it, says that a service was unavailable: an error that reports it, see
  /// ``AvailabilityReporting``, ``ErrorCode/serverUnreachable``, and the errors of `URLSession` without a reply.
  public static func isServiceUnavailable(_ error: any Error) -> Bool {
    var next: (any Error)? = error
    while let error = next {
      if let report = error as? any AvailabilityReporting { return report.isServiceUnavailable }
      if ErrorCode.serverUnreachable ~= error || isWithoutReply(error as NSError) { return true }
      next = (error as? CoherenceError)?.underlying
    }
    return false
  }

  private static func isWithoutReply(_ error: NSError) -> Bool {
    error.domain == NSURLErrorDomain && codesWithoutReply.contains(error.code)
  }

  /// Timed out, host not found, no connection to the host, connection lost, name not found, no network.
  private static let codesWithoutReply: Set<Int> = [-1001, -1003, -1004, -1005, -1006, -1009]
}
