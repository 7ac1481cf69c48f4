import Coherence
import CoherencePersistedActions
import Foundation

/// Uploads a file in parts. A part that the server has is not sent again, also by another process.
struct UploadAttachment: PersistedAction {
  static let retry = PersistedRetry(attempts: 5, initialDelay: .seconds(30), jitter: 0)
  static let partSize = 1000

  let uuid: UUID
  let server: URL

  func run(in context: PersistedActionContext) async throws {
    let (uuid, reader) = (uuid, context.newContext())
    let content = try await reader.perform { () -> Data? in
      try reader.fetch(FetchRequest(Attachment.self).filter { $0.uuid == uuid }).first?.content
    }
    guard let content else { throw PersistedActionExit.park("The attachment was deleted.") }
    let service = TodoService(server)
    var offset = try context.lastCheckpoint(as: Int.self) ?? 0
    while offset < content.count {
      let part = content.dropFirst(offset).prefix(Self.partSize)
      try await service.upload(Data(part), of: uuid.uuidString, at: offset)
      offset += part.count
      try await context.checkpoint(offset)
      context.setProgress(Int64(offset), of: Int64(content.count))
    }
    try await context.commit { context in
      try context.fetch(FetchRequest(Attachment.self).filter { $0.uuid == uuid }).first?.isUploaded = true
    }
  }
}

/// Writes down the open tasks, once for each date of the schedule.
struct DailyDigest: PersistedAction {
  func run(in context: PersistedActionContext) async throws {
    let date = context.dueDate
    try await context.commit { context in
      let open = try context.count(for: FetchRequest(TodoTask.self).filter { $0.isDone == false })
      let digest = try Digest(context: context)
      digest.date = date
      digest.text = "\(open) open tasks"
    }
  }
}
