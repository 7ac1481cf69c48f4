import Coherence
import CoherenceHTTP
import DemoService
import Foundation
import HTTPTypes
import Logging

/// The client of the web service of packages.
package struct ServiceClient: Sendable {
  private let base: URL
  private let http: any HTTPClient

  /// - Parameters:
  ///   - http: By default a client with a timeout of half a minute for a reply, and retries of transient failures.
  ///   - logger: Receives repeated requests.
  package init(base: URL, http: (any HTTPClient)? = nil, logger: Logger = .silent) {
    self.base = base
    self.http =
      http ?? URLSessionClient().limited(to: .seconds(30)).retrying(HTTPRetryPolicy(attempts: 3), logger: logger)
  }

  /// Returns a page of the packages; the first page has the number 1.
  func page(_ number: Int, size: Int) async throws -> PageAnswer {
    let start = ContinuousClock.now
    let reply = try await send(try request("packages?page=\(number)&size=\(size)"))
    return PageAnswer(
      content: try reply.decode(PackagePage.self), etag: reply.response.headerFields[.eTag] ?? "",
      bytes: reply.body.count, seconds: (ContinuousClock.now - start) / .seconds(1))
  }

  /// Edits a package and returns its new value.
  func edit(_ name: String, _ edit: PackageEdit) async throws -> PackageRecord {
    var request = try request("packages/\(name)")
    request.method = .patch
    return try await send(request, body: try JSONEncoder().encode(edit)).decode(PackageRecord.self)
  }

  private func request(_ path: String) throws -> HTTPRequest {
    guard let url = URL(string: path, relativeTo: base)?.absoluteURL else {
      throw DemoError("'\(base.absoluteString)' is not the URL of a service; give one like http://127.0.0.1:8080.")
    }
    // The service writes head and body separately. On a reused connection the body waits some 40 ms for the delayed
    // acknowledgement of the head; a fresh connection on the loopback interface costs less than one.
    return HTTPRequest(method: .get, url: url, headerFields: [.connection: "close"])
  }

  private func send(_ request: HTTPRequest, body: Data? = nil) async throws -> HTTPReply {
    let reply: HTTPReply
    do {
      reply = try await http.send(request, body: body)
    } catch ErrorCode.httpTransferFailed {
      throw DemoError("The service at \(base.absoluteString) does not answer; start it with `Tools/demo serve`.")
    }
    guard reply.status.kind == .successful else {
      let problem = try? JSONDecoder().decode(ServiceProblem.self, from: reply.body)
      throw DemoError(
        "The service refused a request (\(reply.status.code)): \(problem?.message ?? "no reason given")")
    }
    return reply
  }
}

/// A page with the cost of its transfer.
struct PageAnswer: Sendable {
  let content: PackagePage
  let etag: String
  let bytes: Int
  let seconds: Double
}

/// An error that the user of the demo can correct.
package struct DemoError: Error, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }
}
