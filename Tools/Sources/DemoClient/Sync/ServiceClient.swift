import DemoService
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Talks to the web service of packages.
package struct ServiceClient: Sendable {
  private let base: URL
  private let session: URLSession

  package init(base: URL) {
    self.base = base
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = 30
    session = URLSession(configuration: configuration)
  }

  /// A page of the packages, counted from 1.
  func page(_ number: Int, size: Int) async throws -> PageAnswer {
    let start = ContinuousClock.now
    let (data, response) = try await send(request("packages?page=\(number)&size=\(size)"))
    return PageAnswer(
      content: try JSONDecoder().decode(PackagePage.self, from: data),
      etag: response.value(forHTTPHeaderField: "ETag") ?? "", bytes: data.count,
      seconds: (ContinuousClock.now - start) / .seconds(1))
  }

  /// Edits a package and answers it as it is then.
  func edit(_ name: String, _ edit: PackageEdit) async throws -> PackageRecord {
    var request = try request("packages/\(name)")
    request.httpMethod = "PATCH"
    request.httpBody = try JSONEncoder().encode(edit)
    return try JSONDecoder().decode(PackageRecord.self, from: try await send(request).0)
  }

  private func request(_ path: String) throws -> URLRequest {
    guard let url = URL(string: path, relativeTo: base) else {
      throw DemoError("'\(base.absoluteString)' is not the URL of a service; give one like http://127.0.0.1:8080.")
    }
    var request = URLRequest(url: url)
    request.cachePolicy = .reloadIgnoringLocalCacheData
    // The service writes head and body apart. On a connection that was used before, the second waits for the late
    // acknowledgement of the first, some 40 ms; a fresh connection on the loopback interface costs less than one.
    request.setValue("close", forHTTPHeaderField: "Connection")
    return request
  }

  private func send(_ request: URLRequest) async throws -> (Data, HTTPURLResponse) {
    let (data, response) = try await answer(to: request)
    guard let response = response as? HTTPURLResponse else {
      throw DemoError("'\(base.absoluteString)' does not speak HTTP; give the URL of the service.")
    }
    guard response.statusCode == 200 else {
      let problem = try? JSONDecoder().decode(ServiceProblem.self, from: data)
      throw DemoError(
        "The service refused a request (\(response.statusCode)): \(problem?.message ?? "no reason given")")
    }
    return (data, response)
  }

  private func answer(to request: URLRequest) async throws -> (Data, URLResponse) {
    do {
      return try await session.data(for: request)
    } catch {
      try Task.checkCancellation()
      throw DemoError(
        "The service at \(base.absoluteString) does not answer; start it with `Tools/demo serve`. "
          + "(\(error.localizedDescription))")
    }
  }
}

/// A page, and what it took to get it.
struct PageAnswer: Sendable {
  let content: PackagePage
  let etag: String
  let bytes: Int
  let seconds: Double
}

/// Something that the user of the demo can put right.
package struct DemoError: Error, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }
}
