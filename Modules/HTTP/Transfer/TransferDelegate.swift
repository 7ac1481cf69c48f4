import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The delegate of one task. Makes the session return redirects and unmet challenges as replies.
class TransferDelegate: NSObject, URLSessionTaskDelegate, @unchecked Sendable {
  // Sendable: the only state is behind a lock.
  private let unmetChallenge = Mutex<URLResponse?>(nil)

  /// The reply of a challenge for which the session has no credentials.
  final var unauthorized: URLResponse? { unmetChallenge.withLock { $0 } }

  /// Refuses every redirect: the session would send credentials to other hosts, and lose bodies.
  final func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    completionHandler(nil)
  }

  #if canImport(FoundationNetworking)
    /// Ends a task without credentials for a challenge: FoundationNetworking up to Swift 6.3.1 never does. On other systems
    /// the session calls its own delegate for a method that the task's delegate does not implement.
    final func urlSession(
      _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      let complete: @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void = {
        [self] disposition, credential in
        guard disposition == .performDefaultHandling, challenge.proposedCredential == nil else {
          return completionHandler(disposition, credential)
        }
        let response = challenge.failureResponse
        unmetChallenge.withLock { $0 = response }
        completionHandler(.cancelAuthenticationChallenge, nil)
      }
      // On another queue: in its completion handler the session waits for the queue of this callback.
      guard let original = (session.delegate as? TaskDelegateRouter)?.original,
        let delegate = original.delegate as? any URLSessionTaskDelegate
      else { return TransferSession.perform { complete(.performDefaultHandling, nil) } }
      original.delegateQueue.addOperation {
        delegate.urlSession(original, task: task, didReceive: challenge, completionHandler: complete)
      }
    }
  #endif
}
