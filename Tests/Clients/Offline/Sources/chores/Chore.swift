import Coherence
import CoherenceModelMacros
import CoherenceOutbox
import Foundation

@Entity final class Chore: ManagedObject {
  @Attribute(.unique) var id = UUID()
  var title: String
  var room = ""
  /// The number of changes that the server has applied to the chore, as of its last answer; 0 before an answer.
  @Attribute(userInfo: [Outbox.serverAssignedSetting: "true"]) var revision = 0
}
