import FlyingFox
import Foundation

/// Responds to the requests about notes.
struct NoteRoutes: Sendable {
  let book: NoteBook

  func add(to server: HTTPServer) async {
    await server.appendRoute("GET /notes") { .json(await book.list, for: $0) }
    await server.appendRoute("POST /notes") { await insert($0) }
    await server.appendRoute("PATCH /notes/:id") { await update($0) }
    await server.appendRoute("DELETE /notes/:id") { await delete($0) }
  }

  private func insert(_ request: HTTPRequest) async -> HTTPResponse {
    guard let note: NoteRecord = await body(of: request) else {
      return .problem(.badRequest, "Send the note as a JSON object.")
    }
    return await answer(to: .insert(note), request)
  }

  private func update(_ request: HTTPRequest) async -> HTTPResponse {
    guard let id = id(in: request), let change: NoteChange = await body(of: request) else {
      return .problem(.badRequest, "Send `base` and `values` of the fields to change as a JSON object.")
    }
    return await answer(to: .update(id, change), request)
  }

  private func delete(_ request: HTTPRequest) async -> HTTPResponse {
    guard let id = id(in: request) else {
      return .problem(.badRequest, "Name the note by its identifier, a UUID.")
    }
    return await answer(to: .delete(id), request)
  }

  private func answer(to edit: NoteRequest, _ request: HTTPRequest) async -> HTTPResponse {
    guard let key = request.headers[.idempotencyKey].flatMap(UUID.init(uuidString:)) else {
      return .problem(.badRequest, "Send an `Idempotency-Key` with each edit, a UUID that its repetitions share.")
    }
    switch await book.receive(edit, key: key) {
    case .applied(let note): return .json(note, for: request)
    case .deleted: return HTTPResponse(statusCode: .noContent)
    case .conflict(let note): return .json(note, for: request, status: .conflict)
    case .unknown: return .problem(.notFound, "There is no note of this identifier; GET /notes lists them.")
    case nil: return .problem(.serviceUnavailable, "The service stops; send the request again.")
    }
  }

  private func id(in request: HTTPRequest) -> UUID? {
    request.routeParameters["id"].flatMap(UUID.init(uuidString:))
  }

  private func body<Value: Decodable>(of request: HTTPRequest) async -> Value? {
    guard let data = try? await request.bodyData else { return nil }
    return try? JSONDecoder().decode(Value.self, from: data)
  }
}
