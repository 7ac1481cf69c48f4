import Dispatch
import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The delegate of one task. The session hands back redirects and unmet challenges as replies, in place of acting on them.
class TransferDelegate: NSObject, URLSessionTaskDelegate, @unchecked Sendable {
  // Sendable: the only state is behind a lock.
  private let unmetChallenge = Mutex<URLResponse?>(nil)

  /// The reply that asks for credentials, in a session without any.
  final var unauthorized: URLResponse? { unmetChallenge.withLock { $0 } }

  /// A session would pass credentials on to other hosts, and lose bodies.
  final func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    completionHandler(nil)
  }

  #if canImport(FoundationNetworking)
    /// FoundationNetworking up to Swift 6.3.1 never ends a task whose challenge finds no credential. Elsewhere a session
    /// asks its own delegate for what the delegate of a task does not implement.
    final func urlSession(
      _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      let answer: @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void = { [self] way, credential in
        guard way == .performDefaultHandling, challenge.proposedCredential == nil else {
          return completionHandler(way, credential)
        }
        let response = challenge.failureResponse
        unmetChallenge.withLock { $0 = response }
        completionHandler(.cancelAuthenticationChallenge, nil)
      }
      // Not here: the session waits for the queue of this callback when it takes an answer.
      guard let original = (session.delegate as? TaskDelegateRouter)?.original,
        let delegate = original.delegate as? any URLSessionTaskDelegate
      else { return DispatchQueue.global().async { answer(.performDefaultHandling, nil) } }
      original.delegateQueue.addOperation {
        delegate.urlSession(original, task: task, didReceive: challenge, completionHandler: answer)
      }
    }
  #endif
}
