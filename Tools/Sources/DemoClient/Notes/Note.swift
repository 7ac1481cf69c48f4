import Coherence
import CoherenceModelMacros
import CoherenceOutbox
import Foundation

/// A note about a package. The device that writes a note chooses its identifier.
@Entity package final class Note: ManagedObject {
  @Attribute(.unique) package var id = UUID()
  package var packageName: String
  package var text = ""
  @Attribute(.minimum(0), .maximum(5)) package var stars = 0
  /// The number of changes of the note at the service; 0 before the service has confirmed the insert.
  @Attribute(userInfo: [Outbox.serverAssignedSetting: "true"]) package var revision = 0
}
