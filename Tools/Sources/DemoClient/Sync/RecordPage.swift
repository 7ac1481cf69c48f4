import Coherence
import DemoService

/// Saves the tag, size and duration of a page in the in-memory store. The action blocks, so it runs on its own thread.
struct RecordPage: EntityAction {
  typealias ManagedObjectType = PageFetch

  let answer: PageAnswer

  func execute(context: ActionContext) throws {
    let record = MergeRecord([
      "page": answer.content.page, "etag": answer.etag, "packages": answer.content.packages.count,
      "bytes": answer.bytes, "seconds": answer.seconds,
    ])
    try context.performAndWait {
      _ = try context.merge(
        records: [record], for: try context.entity(for: PageFetch.self), options: MergeOptions(mode: .upsertOnly))
    }
  }
}
